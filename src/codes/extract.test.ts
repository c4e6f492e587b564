import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseMail } from '../mime/parse.ts'
import { findCodesAndLinks } from './extract.ts'
import { fold } from './fold.ts'
import { visibleTextOfHtml } from './visible-text.ts'

const parse = (...lines: string[]) => parseMail(Buffer.from(lines.join('\r\n')))

describe('the codes and links of a mail', () => {
  test('come from headers, text and HTML together', () => {
    const { codes, links } = parse(
      'From: Gazelle <no-reply@gazelle.test>',
      'Subject: =?UTF-8?Q?G-482913_ist_Ihr_Best=C3=A4tigungscode?=',
      'List-Unsubscribe: <mailto:a@b.test>,',
      ' <https://gazelle.test/out>',
      'Content-Type: multipart/alternative; boundary=b',
      '',
      '--b',
      '',
      'Ihr Code: G-482913. https://gazelle.test/t',
      '--b',
      'Content-Type: text/html',
      '',
      '<p>Ihr Code: <b>G-482913</b></p><a href="https://gazelle.test/v">E-Mail bestätigen</a>',
      '--b--',
    )
    expect(codes.map(({ value }) => value)).toEqual(['482913'])
    expect(links.map(({ url, kind }) => [kind, url])).toEqual([
      ['verify', 'https://gazelle.test/v'],
      ['other', 'https://gazelle.test/t'],
      ['unsubscribe', 'https://gazelle.test/out'],
    ])
  })

  test('are apart from the label of a button', () => {
    const { codes } = parse(
      'Content-Type: text/html',
      '',
      '<p>Your code: 482913<button>Copy</button></p>',
    )
    expect(codes.map(({ value }) => value)).toEqual(['482913'])
  })

  test('are found after an embedded image', () => {
    const image = `data:image/png;base64,${'QUJD'.repeat(100_000)}`
    const { codes } = parse(
      'Content-Type: text/html',
      '',
      `<img src="${image}"><table background='${image}'><td>Your code: 482913</table>`,
    )
    expect(codes.map(({ value }) => value)).toEqual(['482913'])
  })

  test('are not searched for in attachments', () => {
    const { codes, links } = parse(
      'Content-Type: text/plain',
      'Content-Disposition: attachment; filename=a.txt',
      '',
      'Your code is 482913: https://a.test/verify',
    )
    expect({ codes, links }).toEqual({ codes: [], links: [] })
  })

  test('are empty for an empty mail', () => {
    expect(parse('')).toMatchObject({ codes: [], links: [] })
  })
})

const PIECES =
  'code|Your code is |: |482913|482 913|7F3K-9QXZ|\n|\t| |<p>|<a href="|https://a.test/|">|</a>|<td>|&#|' +
  '验证码|रहस्य|รหัส|코드|ab-cde-fgh|abc def ghi|A-4829|1.|,5分|auth code|<h1>|٤٨|mã |\u0301|\ud800|👋|order |#|@a.test #|<style>|<!--|is |http://|@|%|(|verify'
const text = fc
  .array(fc.oneof(fc.constantFrom(...PIECES.split('|')), fc.string({ unit: 'binary' })))
  .map((pieces) => pieces.join(''))

test('random input gives few, short and clean codes and links', () => {
  fc.assert(
    fc.property(text, text, text, (subject, plain, html) => {
      const headers = { otpToken: plain, listUnsubscribe: html, sender: undefined }
      const { codes, links } = findCodesAndLinks({ ...headers, subject, plain, html })
      expect(codes.length).toBeLessThanOrEqual(5)
      for (const { value, confidence } of codes) {
        expect(value).toMatch(/^[0-9A-Za-z-]{4,64}$|^[a-z]{3,12}(?: [a-z]{3,12}){2,3}$/)
        expect(confidence).toBeGreaterThanOrEqual(0.5)
      }
      for (const { url, text, host } of links) {
        expect(url).toMatch(/^https?:\/\/[!-~]+$/)
        expect(host).toMatch(/^[!-~]+$/)
        expect(text.isWellFormed() && text.length <= 200).toBe(true)
      }
      expect(JSON.parse(JSON.stringify({ codes, links }))).toEqual({ codes, links })
    }),
    { numRuns: process.env['MAYFLY_TEST_LONG'] ? 4_000 : 500 },
  )
})

for (const [name, text, expected] of [
  ['ASCII is unchanged', 'Code: 12', 'Code: 12'],
  ['accents are removed', 'Código, vérification, gültig', 'Codigo, verification, gultig'],
  ['Vietnamese marks are removed', 'Đăng nhập, mật khẩu', 'Dang nhap, mat khau'],
  ['except in the word for code', 'Mã của bạn, irmã', 'Mã cua ban, irma'],
  ['digits of other scripts become ASCII', '٠٩ ۰۹ ०९ ০৯ ௦௯ ๐๙ ០៩ ０９', '09 09 09 09 09 09 09 09'],
  ['letters with a stroke become ASCII', 'łódź, kø, đak, ılık', 'lodz, ko, dak, ilik'],
  ['Arabic and Persian letters are the same', 'كي تأييد', 'کی تایید'],
  ['full-width letters become ASCII', 'Ａｂ：', 'Ab:'],
  ['kana keep their marks', 'ガパード', 'ガパード'],
  ['Arabic short vowels and tatweel are removed', 'رَمْز ـ', 'رمز '],
  ['invisible characters are removed', '4\u200b8\u00ad2\ufeff9', '4829'],
  ['blanks become spaces', '482\u00a0913\u3000x', '482 913 x'],
  ['quotes and dashes become ASCII', '“4–8” ‘x’ …', '"4-8" \'x\' .'],
  ['currencies become one sign', '€ 5 ₽', '¤ 5 ¤'],
  ['emoji become spaces', 'a👋b', 'a  b'],
] as const) {
  test(name, () => expect(fold(text)).toBe(expected))
}

test('lower-casing keeps the length', () => {
  const text = fold('İSTANBUL ẞ Ⅷ ΑΣ ﬁ 漢字')
  expect(text.toLowerCase()).toHaveLength(text.length)
})

/** Trimmed lines without empty ones; cells are separated by a bar. */
function lines(html: string): string[] {
  const all = visibleTextOfHtml(html).text.split('\n')
  return all.map((line) => line.replace(/\t+/g, '|').trim()).filter((line) => /[^|]/.test(line))
}

describe('visible text of HTML', () => {
  for (const [name, html, expected] of [
    ['blocks are lines', '<p>a</p><div>b<br>c</div>', ['a', 'b', 'c']],
    ['inline elements are not', 'a<b>b</b><span>c</span> <i>d</i>', ['abc d']],
    ['cells share a line', '<tr><td>a</td><td>b</td></tr><tr><td>c', ['|a|b|', '|c']],
    ['line breaks in the source are blanks', 'a\n  b\r\n\tc', ['a b c']],
    ['except in pre', '<pre>a\nb</pre>c\nd', ['a', 'b', 'c d']],
    [
      'character references are decoded',
      '&lt;&eacute;&#233;&#xE9;&nbsp;&amp;amp;&copy',
      ['<ééé\u00a0&amp;©'],
    ],
    ['unknown references are kept', '&nosuch; & &#0; &#xd800;', ['&nosuch; & \ufffd \ufffd']],
    ['styles and scripts are invisible', 'a<style>b</style><script>c<p></script >d', ['ad']],
    ['an unclosed style is invisible', 'a<style>b<p>c', ['a']],
    ['comments are invisible', 'a<!-- <p>b</p> -->c<!--[if mso]>d<![endif]-->e', ['ace']],
    ['an unclosed comment hides the rest', 'a<!-- b', ['a']],
    ['a quoted bracket does not end a tag', '<p title="a>b">c</p>', ['c']],
    ['a stray apostrophe does not start a value', "<p it's>c</p><p>d", ['c', 'd']],
    ['an unclosed value hides the rest', 'a<p title="b>c</p>', ['a']],
    ['a literal bracket is text', '1 < 2 <3', ['1 < 2 <3']],
  ] as const) {
    test(name, () => expect(lines(html)).toEqual(expected))
  }
})

describe('links in HTML', () => {
  const anchors = (html: string) => {
    const { text, anchors } = visibleTextOfHtml(html)
    return anchors.map(({ href, start, end, alt }) => [href, text.slice(start, end), alt])
  }
  for (const [name, html, expected] of [
    ['have a URL and a text', 'x<a href="u">a <b>b</b></a>c', [['u', 'a b', '']]],
    [
      'may have quoted or unquoted attributes',
      `<a href='u'>a</a><a HREF = v >b</a>`,
      [
        ['u', 'a', ''],
        ['v', 'b', ''],
      ],
    ],
    [
      'include the alternative text of images',
      '<a href=u><img alt="a&amp;b"><img alt=c></a>',
      [['u', '', 'a&b c']],
    ],
    [
      'end where the next one starts',
      '<a href=u>a<a href=v>b',
      [
        ['u', 'a', ''],
        ['v', 'b', ''],
      ],
    ],
    ['use the first href', '<a href=u href=v>a</a>', [['u', 'a', '']]],
    ['need an href', '<a name=u>a</a><a href="">b</a>', []],
    ['are only `a` elements', '<abbr href=u>a</abbr><address href=v>b', []],
  ] as const) {
    test(name, () => expect(anchors(html)).toEqual(expected))
  }
})
