import { describe, expect, test } from 'vitest'
import { isSlowerThan, isSuperlinear } from '../../test/kit/mail/growth.ts'
import { scanned } from '../../test/kit/mail/scan.ts'
import { parseAddress } from '../base/address.ts'
import { cleanLine } from '../base/text.ts'
import { findCodes } from '../codes/codes.ts'
import { fold } from '../codes/fold.ts'
import { languagesOf } from '../codes/languages.ts'
import { findLinks } from '../codes/links.ts'
import { visibleTextOfHtml, visibleTextOfPlain } from '../codes/visible-text.ts'
import { readAddress, readMailboxes } from './addresses.ts'
import { unwrapFlowed } from './body.ts'
import { decodeBytes, decodeTransfer, decodeUtf7 } from './decode.ts'
import { safeFilename } from './filename.ts'
import { readFromAddresses, readHead } from './header-summary.ts'
import { decodeEncodedWords, parseParameterized, readDate } from './header-values.ts'
import { htmlConverter } from './html-text.ts'
import { parseMail } from './parse.ts'
import { plainAddresses } from './possible-addresses.ts'

// The time to parse any repeated input must grow linearly.
const LONGEST = process.env['MAYFLY_TEST_LONG'] ? 65_536 : 32_768
// Wall time, unlike what is measured: long enough for a busy machine.
const TIMEOUT_MS = 180_000

const REPEATED = [
  ...['a', ' ', '<', '(', '=?', '@.', 'xn--', '&#', '/*', '--', '"', '\\', ';', '[', ',', ':', '>'],
  ...['\t', '\r', '\n', '\r\n ', '%', "'", '=', '*', '.', '+', '\0', '\u00e4', '\ud800', '\u202e'],
  ...['a ', 'a@', '<a@b', '@[', '=?u?q?', '=?u?q?a?=', '=?u?b?a?= ', ';a=', ';a*0=b', 'a;"', '> '],
  ...['@ ', '@, ', ' @', '. ', '@a,', '<@ ', '"@', ' \t', '; ', '="', "a'", '*0*=%', 'a-', '1:'],
  ...['<a ', '<!--', '</', '<p>', '<b>', '=\n', '=4', '1 ', '1 Jan ', '\\"', '( ', ')('],
  ...['\x1b', '\x1b$B', '\x1b$B%F\x1b(B', '\x1b(J\\', '\x0e', '~{', '~{VP~}', '~'],
  ...['<p><td>', '<ul><!--</ul>-->', '<blockquote>y', '<a href=x>y ', 'QQ==\n'],
  ...['@(', '@(a)', '(a)@', '(a)', '.(a)', '((a)', ':(;', ':\\";', 'data:', ';base64,'],
  ...['data:a;base64,a'],
]

/** Input that matters to the search for codes and links. */
const CODE_AND_LINK_TEXT =
  `1|12 |123 |1234 |482913\n|1-|A1-|A1 |A\t|1\t|1.|\u0661|\uff11|code|code |code: 482913\n|code is
|482913 is your code. |order |promo code |code 482913 |\u9a8c\u8bc1\u7801|\u30b3|m\u00e3 |a\u0301|\ud83d\udc4b|de |verify
|http://|http://a |http://a/.|http://a/(|https://a/x)|www.|http://a/%|http://a/?a=|<a href=|<a href="|<a b='|<a =|<a b=
|<a href=http://a>|<a href="http://a">here</a>|<td>1|<style>|<pre>|</pre>|<img alt=|&amp;|&eacute|<https://a>|<!|<?
|maple tree cup\n|code: aaa bbb ccc |AB-4829 |4829.4829 |482913,5分|auth code |receipt |@a.b #1|otter-|abc-def-|รหัส|코드 |कोड |kodu|<h1>|<b style=font-size:|</a>|<a>| <a href=//a>x|<p>1|=" |= |[. |1 is |code\n\n|\n1\n|a:\n1\n`.split(
    '|',
  )

const READERS: [string, (text: string) => unknown, longest?: number][] = [
  [
    'sender and subject',
    (text) => readHead(scanned(Buffer.from(`From: ${text}\nSubject: ${text}\n\n`)), text),
  ],
  [
    'addresses of From',
    (text) => [...readFromAddresses(scanned(Buffer.from(`From: ${text}\n\n`)))],
  ],
  ['plain addresses of a long From', (text) => [...plainAddresses(Buffer.from(`${text}@${text}`))]],
  ['header fields', (text) => readHead(scanned(Buffer.from(text)), '')],
  ['mailboxes', (text) => [...readMailboxes(text)]],
  // Longer input is rejected unread.
  ['an address', repeatedly(readAddress), 600],
  ['an address in brackets', repeatedly((text) => [...readMailboxes(`<${text}>`)]), 600],
  ['a short date', repeatedly((text) => readDate(`1 Jan 2026 ${text}`)), 90],
  ['encoded words', decodeEncodedWords],
  ['parameters', (text) => parseParameterized(`a/b; ${text}`)],
  ['a date', readDate],
  ['a file name', (text) => safeFilename(text, 0, '')],
  ['a line', (text) => cleanLine(text, 998)],
  ['flowed text', (text) => unwrapFlowed(text, true)],
  ['UTF-7', (text) => decodeUtf7(Buffer.from(text))],
  ['ISO-2022', (text) => decodeBytes(Buffer.from(text), 'iso-2022-jp')],
  ['HZ', (text) => decodeBytes(Buffer.from(text), 'hz-gb-2312')],
  ['quoted-printable', (text) => decodeTransfer(Buffer.from(text), 'quoted-printable')],
  ['base64', (text) => decodeTransfer(Buffer.from(text), 'base64')],
  ['HTML', (text) => htmlConverter().convert(text)],
  ['a whole mail', (text) => parseMail(Buffer.from(`To: ${text}\nX: ${text}\n\n${text}`))],
  ['a mail with text and HTML', (text) => parseMail(alternatives(text))],
]

/** A single read of a short text is too fast to be measured. */
function repeatedly(read: (text: string) => unknown): (text: string) => void {
  return (text) => {
    for (let time = 0; time < 500; time += 1) read(text)
  }
}

/** The HTML says more, so that it is compared with the text and converted. */
function alternatives(text: string): Buffer {
  const parts = ['plain', 'html'].map((type) => `--b\nContent-Type: text/${type}\n\n`)
  const head = 'Content-Type: multipart/alternative; boundary=b\n\n'
  return Buffer.from(`${head}${parts[0]}${text}\n${parts[1]}${text} more\n--b--\n`)
}

const NOBODY = { senderName: '', senderAddress: 'no-reply@a.test', otpToken: '' }
const FINDERS: [string, (text: string) => unknown][] = [
  ['visible text of HTML', visibleTextOfHtml],
  ['visible text of plain text', visibleTextOfPlain],
  ['folded text', fold],
  [
    'codes',
    (text) => {
      const languages = languagesOf([text])
      return findCodes({ ...NOBODY, subject: text, texts: [text], largeTexts: [text], languages })
    },
  ],
  [
    'links',
    (text) => {
      const visible = [visibleTextOfHtml(text), visibleTextOfPlain(text)]
      return findLinks(visible, text, languagesOf([text]))
    },
  ],
]

describe('time to parse', { timeout: TIMEOUT_MS }, () => {
  for (const [name, read, longest = LONGEST] of READERS) {
    test(`${name} is linear`, () => {
      expect(REPEATED.filter((piece) => isSuperlinear(read, piece, longest))).toEqual([])
    })
  }

  test('the alternative texts of a link are read in linear time', () => {
    const read = (images: string) => visibleTextOfHtml(`<a href=x>${images}`)
    expect(isSuperlinear(read, '<img alt=y>', 400_000)).toBe(false)
  })

  for (const [name, read] of FINDERS) {
    test(`${name} is linear`, () => {
      const pieces = [...REPEATED, ...CODE_AND_LINK_TEXT]
      expect(pieces.filter((piece) => isSuperlinear(read, piece, LONGEST))).toEqual([])
    })
  }
})

test('an address is read as fast if its domain has a hundred labels', async () => {
  const read = (address: string) => () => {
    for (let time = 0; time < 20_000; time += 1) [parseAddress(address), readAddress(address)]
  }
  const few = 'a@x'.padEnd(253, `.${'x'.repeat(49)}`)
  const many = 'a@x'.padEnd(253, '.x')
  expect([parseAddress(few), parseAddress(many)]).toEqual([few, many])
  expect(await isSlowerThan(2, read(few), read(many))).toBe(false)
})
