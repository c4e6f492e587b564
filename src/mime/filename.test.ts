import { describe, expect, test } from 'vitest'
import { safeFilename } from './filename.ts'
import { parseMail } from './parse.ts'

describe('a file name', () => {
  for (const [given, expected] of [
    ['report.pdf', 'report.pdf'],
    ['../../x', 'x'],
    ['..\\x', 'x'],
    ['/etc/passwd', 'passwd'],
    ['C:\\x', 'x'],
    ['C:x', 'C_x'],
    ['x\0.png', 'x.png'],
    ['x\r\nSet-Cookie: a=b', 'x Set-Cookie_ a=b'],
    ['"; filename=evil.html', '_; filename=evil.html'],
    ['.htaccess', 'htaccess'],
    ['..', 'attachment-3.bin'],
    ['...', 'attachment-3.bin'],
    ['', 'attachment-3.bin'],
    ['   ', 'attachment-3.bin'],
    ['a/', 'attachment-3.bin'],
    ['gpj.\u202eexe', 'gpj.exe'],
    ['a\u200bb\ufeff.txt', 'ab.txt'],
    ['😀.txt', '😀.txt'],
    ['Gro\u0308ße.txt', 'Größe.txt'],
    ['CON', '_CON'],
    ['nul.txt', '_nul.txt'],
    ['Com1.tar.gz', '_Com1.tar.gz'],
    ['console.log', 'console.log'],
    ['x. ', 'x'],
    ['__proto__', '__proto__'],
    ['\ud800.txt', '\ufffd.txt'],
  ] as const) {
    test(`${JSON.stringify(given)} becomes ${JSON.stringify(expected)}`, () =>
      expect(safeFilename(given, 2, 'application/octet-stream')).toBe(expected))
  }

  test('has an extension by content type if there is no name', () => {
    expect(safeFilename('', 0, 'message/rfc822')).toBe('attachment-1.eml')
    expect(safeFilename('', 0, 'image/jpeg')).toBe('attachment-1.jpg')
    expect(safeFilename('', 0, 'constructor/x')).toBe('attachment-1.bin')
  })

  test('that is too long is cut between characters and keeps its extension', () => {
    expect(safeFilename(`${'x'.repeat(1_000)}.jpeg`, 0, '')).toBe(`${'x'.repeat(195)}.jpeg`)
    const astral = safeFilename(`a${'😀'.repeat(1_000)}.png`, 0, '')
    expect(Buffer.byteLength(astral)).toBeLessThanOrEqual(200)
    expect(astral).toMatch(/^a(?:😀)+\.png$/u)
    expect(safeFilename(`.${'x'.repeat(9_000)}`, 0, '')).toHaveLength(200)
  })
})

describe('the file name in a header', () => {
  const named = (header: string) =>
    parseMail(Buffer.from(`${header}\r\n\r\nx`, 'latin1')).attachments[0]?.filename

  for (const [name, header, expected] of [
    ['may be quoted', 'Content-Disposition: attachment; filename="a b.txt"', 'a b.txt'],
    [
      'may be unquoted, with blanks',
      'Content-Disposition: attachment; filename=a b.txt',
      'a b.txt',
    ],
    ['may have escapes', 'Content-Disposition: attachment; filename="a\\"b.txt"', 'a_b.txt'],
    ['may be in Content-Type', 'Content-Type: image/png; name=x.png', 'x.png'],
    [
      'is taken from Content-Disposition first',
      'Content-Type: image/png; name=a.png\r\nContent-Disposition: attachment; filename=b.png',
      'b.png',
    ],
    [
      'may be in encoded words that split a character',
      'Content-Disposition: attachment; filename="=?utf-8?B?4pw=?= =?utf-8?B?ky50eHQ=?="',
      '✓.txt',
    ],
    [
      'may follow RFC 2231',
      "Content-Disposition: attachment; filename*=utf-8'de'%e2%9c%93%20x.txt",
      '✓ x.txt',
    ],
    [
      'is taken from the RFC 2231 form first',
      "Content-Disposition: attachment; filename=a.txt; filename*=utf-8''b.txt",
      'b.txt',
    ],
    [
      'may be in sections, out of order, that split a character',
      "Content-Disposition: attachment; filename*1*=%93.txt; filename*0*=utf-8''%e2%9c",
      '✓.txt',
    ],
    [
      'may mix sections of both kinds',
      'Content-Disposition: attachment; filename*0*=iso-8859-1\'\'%fc; filename*1="%41.txt"',
      'ü%41.txt',
    ],
    [
      'may be in an unknown charset',
      "Content-Disposition: attachment; filename*=x-none''%fc.txt",
      'ü.txt',
    ],
    [
      'never contains a path, however it is encoded',
      "Content-Disposition: attachment; filename*=utf-8''..%2f..%2fetc%2fpasswd%00.png",
      'passwd.png',
    ],
    [
      'cannot inject a header',
      "Content-Disposition: attachment; filename*=utf-8''x%0d%0aSet-Cookie%3a%20a%3db",
      'x Set-Cookie_ a=b',
    ],
    ['may be raw Latin-1', 'Content-Disposition: attachment; filename="gr\xfcn.txt"', 'grün.txt'],
    [
      'may be after a comment',
      'Content-Disposition: attachment (really); filename=a.txt (yes)',
      'a.txt',
    ],
    ['may lack the semicolon', 'Content-Disposition: attachment\r\n filename=a.txt', 'a.txt'],
    ['is the first of two', 'Content-Disposition: attachment; filename=a; filename=b', 'a'],
  ] as const) {
    test(name, () => expect(named(header)).toBe(expected))
  }
})
