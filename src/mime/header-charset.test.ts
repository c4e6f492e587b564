import { describe, expect, test } from 'vitest'
import { scanned } from '../../test/kit/mail/scan.ts'
import { readHead } from './header-summary.ts'
import { parseMail } from './parse.ts'

const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

describe('8-bit text in a header', () => {
  const GBK = '\xd1\xe9\xd6\xa4\xc2\xeb'
  const CYRILLIC = '\xca\xee\xe4'
  const type = (charset: string) => `Content-Type: text/plain; charset="${charset}"`
  const multipart = (charset: string) =>
    `Content-Type: multipart/mixed; boundary=a\r\n\r\n--a\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n${type(charset)}`
  for (const [name, text, fields, expected] of [
    ['may be UTF-8 with an invalid byte', `${utf8('für Müller')}\xff`, '', 'für Müller\ufffd'],
    ['may be UTF-8 that was cut', utf8('für €').slice(0, -1), '', 'für \ufffd'],
    ['may be UTF-8 although the body is not', utf8('验证码'), type('gbk'), '验证码'],
    [
      'may be invalid UTF-8 although the body is not',
      `${utf8('验证码')}\xff`,
      type('gbk'),
      '验证码\ufffd',
    ],
    ['has the charset of the body', GBK, type('GB2312'), '验证码'],
    ['has the charset of the first text part', CYRILLIC, multipart('windows-1251'), 'Код'],
    ['is Windows-1252 if none is declared', 'gr\xfcn', '', 'grün'],
    ['is Windows-1252 if the body is UTF-8', 'gr\xfcn', type('utf-8'), 'grün'],
    ['is Windows-1252 if the body is ASCII', 'gr\xfcn', type('us-ascii'), 'grün'],
    ['is Windows-1252 if the charset is wide', 'gr\xfcn', type('utf-16'), 'grün'],
    ['is Windows-1252 if the charset has 7 bits', 'gr\xfcn', type('iso-2022-jp'), 'grün'],
    ['is Windows-1252 if the charset does not exist', 'gr\xfcn', type('x-none'), 'grün'],
    ['may be in escape sequences', '\x1b$BF|K\\\x1b(B!', type('iso-2022-jp'), '日本!'],
    ['needs a declaration to be in escape sequences', '\x1b$BF|\x1b(B', type('utf-8'), '$BF|(B'],
  ] as const) {
    test(`${name}, for lists and for the parser`, () => {
      const header = `From: ${text} <a@a.test>\r\nSubject: ${text}\r\nX: ${text}\r\n${fields}`
      expect(readHead(scanned(Buffer.from(`${header}\r\n\r\nx`, 'latin1')), '')).toEqual({
        senderName: expected,
        senderEmail: 'a@a.test',
        subject: expected,
      })
      const mail = parseMail(Buffer.from(`${header}\r\n\r\nx`, 'latin1'))
      expect(mail.from).toEqual([{ name: expected, address: 'a@a.test' }])
      for (const key of ['Subject', 'X'])
        expect(mail.headers.find((field) => field.name === key)?.value).toBe(expected)
    })
  }

  test('may name a file', () => {
    const disposition = `Content-Disposition: attachment; filename="${GBK}.pdf"`
    const raw = Buffer.from(
      `${multipart('gbk')}\r\n\r\nx\r\n--a\r\n${disposition}\r\n\r\nx`,
      'latin1',
    )
    expect(parseMail(raw).attachments[0]?.filename).toBe('验证码.pdf')
  })
})
