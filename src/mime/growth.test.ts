import { describe, expect, test } from 'vitest'
import { isSuperlinear } from '../../test/support/growth.ts'
import { cleanLine } from '../core/text.ts'
import { findCodes } from '../extract/codes.ts'
import { fold } from '../extract/fold.ts'
import { findLinks } from '../extract/links.ts'
import { visibleTextOfHtml, visibleTextOfPlain } from '../extract/visible-text.ts'
import { readAddress, readMailboxes } from './addresses.ts'
import { unwrapFlowed } from './body.ts'
import { decodeTransfer, decodeUtf7 } from './decode.ts'
import { safeFilename } from './filename.ts'
import { readHead } from './head.ts'
import { decodeEncodedWords, parseParameterized, readDate } from './header-values.ts'
import { htmlConverter } from './html-text.ts'
import { parseMail } from './parse.ts'

// Whatever a sender repeats, the time to read it grows with its length and no faster.
const LONGEST = 65_536
// Others' work counts here, as it does not in what grows: a busy machine must not fail what grows as it may.
const PATIENCE_MS = 180_000

const REPEATED = [
  ...['a', ' ', '<', '(', '=?', '@.', 'xn--', '&#', '/*', '--', '"', '\\', ';', '[', ',', ':', '>'],
  ...['\t', '\r', '\n', '\r\n ', '%', "'", '=', '*', '.', '+', '\0', '\u00e4', '\ud800', '\u202e'],
  ...['a ', 'a@', '<a@b', '@[', '=?u?q?', '=?u?q?a?=', '=?u?b?a?= ', ';a=', ';a*0=b', 'a;"', '> '],
  ...['@ ', '@, ', ' @', '. ', '@a,', '<@ ', '"@', ' \t', '; ', '="', "a'", '*0*=%', 'a-', '1:'],
  ...['<a ', '<!--', '</', '<p>', '<b>', '=\n', '=4', '1 ', '1 Jan ', '\\"', '( ', ')('],
  ...['<p><td>', '<ul><!--</ul>-->', '<blockquote>y', '<a href=x>y ', 'QQ==\n'],
]

/** By what codes and links are found. */
const FOUND_BY =
  `1|12 |123 |1234 |482913\n|1-|A1-|A1 |A\t|1\t|1.|\u0661|\uff11|code|code |code: 482913\n|code is
|482913 is your code. |order |promo code |code 482913 |\u9a8c\u8bc1\u7801|\u30b3|m\u00e3 |a\u0301|\ud83d\udc4b|de |verify
|http://|http://a |http://a/.|http://a/(|https://a/x)|www.|http://a/%|http://a/?a=|<a href=|<a href="|<a b='|<a =|<a b=
|<a href=http://a>|<a href="http://a">here</a>|<td>1|<style>|<pre>|</pre>|<img alt=|&amp;|&eacute|<https://a>|<!|<?
|@a.b #1|</a>|<a>| <a href=//a>x|<p>1|=" |= |[. |1 is |code\n\n|\n1\n|a:\n1\n`.split('|')

const READERS: [string, (text: string) => unknown, longest?: number][] = [
  ['the header look', (text) => readHead(Buffer.from(`From: ${text}\nSubject: ${text}\n\n`), text)],
  ['the header look at names', (text) => readHead(Buffer.from(text), '')],
  ['mailboxes', (text) => [...readMailboxes(text)]],
  // Longer ones are refused unread: what is short must not grow without bounds either.
  ['an address', readAddress, 600],
  ['an address in brackets', (text) => [...readMailboxes(`<${text}>`)], 600],
  ['a short date', (text) => readDate(`1 Jan 2026 ${text}`), 90],
  ['encoded words', decodeEncodedWords],
  ['parameters', (text) => parseParameterized(`a/b; ${text}`)],
  ['a date', readDate],
  ['a file name', (text) => safeFilename(text, 0, '')],
  ['a line', (text) => cleanLine(text, 998)],
  ['flowed text', (text) => unwrapFlowed(text, true)],
  ['UTF-7', (text) => decodeUtf7(Buffer.from(text))],
  ['quoted-printable', (text) => decodeTransfer(Buffer.from(text), 'quoted-printable')],
  ['base64', (text) => decodeTransfer(Buffer.from(text), 'base64')],
  ['HTML', (text) => htmlConverter().convert(text)],
  ['a whole mail', (text) => parseMail(Buffer.from(`To: ${text}\nX: ${text}\n\n${text}`))],
]

const NOBODY = { senderName: '', senderHost: '', otpToken: '' }
const FINDERS: [string, (text: string) => unknown][] = [
  ['lines of HTML', visibleTextOfHtml],
  ['lines of text', visibleTextOfPlain],
  ['folded text', fold],
  ['codes', (text) => findCodes({ ...NOBODY, subject: text, texts: [text] })],
  ['links', (text) => findLinks([visibleTextOfHtml(text), visibleTextOfPlain(text)], text)],
]

describe('the time to read', { timeout: PATIENCE_MS }, () => {
  for (const [name, read, longest = LONGEST] of READERS) {
    test(`${name} grows no faster than the text`, () => {
      expect(REPEATED.filter((piece) => isSuperlinear(read, piece, longest))).toEqual([])
    })
  }

  for (const [name, read] of FINDERS) {
    test(`${name} grows no faster than the text`, () => {
      const pieces = [...REPEATED, ...FOUND_BY]
      expect(pieces.filter((piece) => isSuperlinear(read, piece, LONGEST))).toEqual([])
    })
  }
})
