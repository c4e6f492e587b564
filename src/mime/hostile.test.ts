import { createHash } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { recordingLog } from '../../test/kit/recording-log.ts'
import type { Sandbox } from '../sandbox/pool.ts'
import type { Mail } from '../shared/mail.ts'
import { openMailSandbox, openParser, type Parser } from './parser.ts'
import { attachmentBytes } from './testing/attachment.ts'

// Mail crafted to stall, exhaust or confuse a parser. Each is parsed or truncated within the limits of the pool, whose limits
// of time are raised: a slow or stalled machine multiplies the time of 10 MB, while time that grows with the square of the
// size (growth.test.ts) would exceed these limits as well.
const LIMITS = { cpuMs: 60_000, wallMs: 90_000 }

const head = 'From: ann@a.test\r\nSubject: s\r\nMIME-Version: 1.0\r\n'
const multipart = (boundary: string, type = 'mixed') =>
  `Content-Type: multipart/${type}; boundary="${boundary}"\r\n\r\n`
const nested = (depth: number) =>
  head +
  multipart('b0') +
  Array.from({ length: depth }, (_, at) => `--b${at}\r\n${multipart(`b${at + 1}`)}`).join('') +
  `--b${depth}\r\n\r\ninnermost\r\n`
const emptyParts = (count: number) => head + multipart('b') + '--b\r\n\r\n'.repeat(count)
const text = (type: string, body: string) => `${head}Content-Type: ${type}\r\n\r\n${body}`
const encoded = (encoding: string, body: string, type = 'text/plain') =>
  `${head}Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}`
const words = (length: number) => '=?utf-8?Q?a?= =?latin1?Q?b?=\r\n '.repeat(Math.ceil(length / 31))
const html = (body: string) => text('text/html', body)

type Check = (mail: Mail) => unknown
const texts =
  (expected: string): Check =>
  (mail) =>
    expect(mail.text?.trim().slice(0, 100)).toBe(expected)

const VECTORS: [string, () => string, Check?][] = [
  ['multiparts nested 10 deep', () => nested(10), texts('innermost')],
  ['multiparts nested 99 deep', () => nested(99), texts('innermost')],
  ['multiparts nested 257 deep', () => nested(257)],
  ['multiparts nested 10,000 deep', () => nested(10_000)],
  ['one boundary nested 1,000 times', () => head + `${multipart('b')}--b\r\n`.repeat(1_000)],
  ['1,000 empty parts', () => emptyParts(1_000)],
  ['20,000 empty parts', () => emptyParts(20_000)],
  ['1,400,000 empty parts', () => emptyParts(1_400_000)],
  [
    'a thousand attachments more than the limit',
    () => head + multipart('b') + '--b\r\nContent-Type: image/png\r\n\r\nx\r\n'.repeat(2_000),
    (mail) => expect(mail.attachments).toHaveLength(999),
  ],
  [
    'two million lines like a delimiter',
    () => `${head}${multipart('bx')}--bx\r\n\r\n${'--b\r\n'.repeat(2_000_000)}`,
  ],
  [
    '10,000 headers',
    () => `${head}${'X: y\r\n'.repeat(10_000)}\r\nx`,
    (mail) => {
      expect(mail.headers).toHaveLength(1_000)
      expect(mail.text).toBe('x')
    },
  ],
  ['100,000 To headers', () => `${'To: a@a.test\r\n'.repeat(100_000)}\r\nx`, texts('x')],
  [
    'a To header with 100,000 addresses',
    () => `To: ${'a@a.test,\r\n '.repeat(100_000)}b@b.test\r\n\r\nx`,
    (mail) => expect(mail.to).toHaveLength(1_000),
  ],
  ['a header of 100 KB', () => `X: ${'y'.repeat(102_400)}\r\n\r\nx`, texts('x')],
  ['a header of 3 MB', () => `X: ${'y'.repeat(3_000_000)}\r\n\r\nx`, texts('x')],
  ['a header of three million lines', () => `X: y${'\n y'.repeat(3_000_000)}\n\nx`, texts('x')],
  ['a part header of 9 MB', () => `${head}${multipart('b')}--b\r\n${'X: y\r\n'.repeat(1_500_000)}`],
  ['groups in groups', () => `To: ${'g:'.repeat(40_000)}\r\n\r\nx`, texts('x')],
  ['comments in comments', () => `To: ${'('.repeat(90_000)}\r\n\r\nx`, texts('x')],
  ['comments that close', () => `To: ${'('.repeat(40_000)}${')'.repeat(40_000)}\r\n\r\nx`],
  ['a quoted name that never ends', () => `From: "${'\\"'.repeat(45_000)}\r\n\r\nx`, texts('x')],
  ['brackets that never close', () => `From: ${'<"'.repeat(45_000)}\r\n\r\nx`, texts('x')],
  ['10,000 encoded words', () => `Subject: ${'=?utf-8?Q?=C3?=\r\n '.repeat(10_000)}\r\n\r\nx`],
  [
    'a subject of 3 MB in two charsets',
    () => `Subject: ${words(3_000_000)}\r\n\r\nx`,
    (mail) => {
      expect(mail.text).toBe('x')
      expect(mail.headers[0]?.value).toMatch(/^(?:ab){500,}a?$/)
    },
  ],
  [
    'a word of 400,000 pieces',
    () => `Subject: =?utf-8?Q?a?=\r\n =?utf-8?Q?${'a\xe9'.repeat(200_000)}?=\r\n\r\nx`,
    texts('x'),
  ],
  [
    'encoded words in every field that is read',
    () =>
      `${'From,Subject,To,Cc,Reply-To,Date,Message-ID,List-Unsubscribe,OTP-Token,Content-Type,Content-Disposition,Content-ID'
        .split(',')
        .map((name) => `${name}: a;b="${words(500_000)}"\r\n`)
        .join('')}\r\nx`,
    texts('x'),
  ],
  [
    'a charset for each of 5,000 words',
    () => `X: ${Array.from({ length: 5_000 }, (_, at) => `=?x${at}?Q?a?=`).join(' ')}\r\n\r\nx`,
  ],
  [
    '5,000 parts of one parameter',
    () =>
      `${head}Content-Type: a/b;${Array.from({ length: 5_000 }, (_, at) => ` name*${at}=a`).join(';')}\r\n\r\nx`,
    (mail) => expect(mail.attachments).toHaveLength(1),
  ],
  ['a parameter numbered a billion', () => text('a/b; name*999999999=x; name*0=y', 'x')],
  ['quotes in a parameter that never end', () => text(`text/plain${';a="\\'.repeat(20_000)}`, 'x')],
  ['a boundary of 2,048 characters', () => head + multipart('b'.repeat(2_048))],
  ['an empty boundary', () => `${head}${multipart('')}--\r\n\r\nx\r\n----\r\n`],
  ['base64 of one letter a line', () => encoded('base64', 'QQ\r\n'.repeat(2_000_000), 'image/png')],
  [
    'base64 padded on each line',
    () => encoded('base64', 'QQ==\r\n'.repeat(1_500_000), 'image/png'),
  ],
  ['base64 of nothing but garbage', () => encoded('base64', '!?\r\n'.repeat(2_000_000))],
  [
    '10 MB of base64',
    () => encoded('base64', `${'QUJD'.repeat(19)}\r\n`.repeat(125_000), 'image/png'),
    (mail) => expect(mail.attachments[0]?.size).toBe(7_125_000),
  ],
  ['three million soft line breaks', () => encoded('quoted-printable', '=\r\n'.repeat(3_000_000))],
  ['ten million equals signs', () => encoded('quoted-printable', '='.repeat(10_000_000))],
  ['uuencode with a path', () => text('text/plain', 'begin 644 ../../x\r\n#86)C\r\n`\r\nend\r\n')],
  [
    'yEnc',
    () => text('text/plain', '=ybegin line=128 size=3 name=../x\r\nabc\r\n=yend size=3\r\n'),
  ],
  [
    'TNEF',
    () => encoded('base64', 'eJ8+IgAAAQAAAAAA////fw==', 'application/ms-tnef; name=winmail.dat'),
    (mail) => expect(mail.attachments[0]?.filename).toBe('winmail.dat'),
  ],
  ['two and a half million short lines', () => `${head}\r\n${'ab\r\n'.repeat(2_500_000)}`],
  ['flowed text without end', () => text('text/plain; format=flowed', 'a \r\n'.repeat(2_000_000))],
  ['HTML open tags without end', () => html('<div>'.repeat(1_900_000))],
  ['HTML tables in tables', () => html('<table><tr><td>'.repeat(600_000))],
  ['HTML lists in lists', () => html('<ul><li>'.repeat(1_200_000))],
  ['HTML quotes in quotes', () => html('<blockquote>x'.repeat(700_000))],
  ['HTML links without end', () => html('<a href="x">'.repeat(800_000))],
  ['HTML with a cell over a billion columns', () => html('<table><tr><td colspan=999999999>x')],
  ['HTML paragraphs that never close', () => html('<p>x'.repeat(2_000_000))],
  ['HTML angle brackets', () => html('<'.repeat(9_000_000))],
  ['HTML half entities', () => html('&#'.repeat(4_500_000))],
  ['HTML comments that never close', () => html('<!--'.repeat(2_000_000))],
  ['UTF-7 without end', () => text('text/plain; charset=utf-7', '+AA'.repeat(3_000_000))],
  [
    'escapes of ISO-2022-JP',
    () => text('text/plain; charset=iso-2022-jp', '\x1b$B'.repeat(900_000)),
  ],
  ['NUL and nothing else', () => '\0'.repeat(9_000_000)],
  ['line ends and nothing else', () => '\n'.repeat(9_000_000)],
  ['no end of line at all', () => 'x'.repeat(9_000_000)],
]

describe('hostile mail', () => {
  const { log, entries } = recordingLog()
  let sandbox: Sandbox
  let parser: Parser
  beforeAll(() => {
    sandbox = openMailSandbox({ children: 1, limits: LIMITS })
    parser = openParser({ log, sandbox })
  })
  // The parser is shared: a mail that is logged fails its own test only.
  beforeEach(() => void entries.splice(0))
  afterAll(() => sandbox.close())

  for (const [name, make, check] of VECTORS) {
    test(`${name}: parsed or truncated, and the next mail is parsed`, async () => {
      const mail = await parser.parse(Buffer.from(make(), 'latin1'))
      expect(entries).toEqual([])
      expect(mail.text).not.toBeNull()
      check?.(mail)
      expect((await parser.parse(Buffer.from('X: y\r\n\r\nnext'))).text).toBe('next')
    })
  }

  test('a zip bomb is not opened and stays unchanged', async () => {
    const bomb = deflateRawSync(Buffer.alloc(50_000_000))
    const body = bomb.toString('base64').replace(/.{76}/g, '$&\r\n')
    const type = 'application/zip; name=42.zip'
    const raw = Buffer.from(encoded('base64', body, type))
    const mail = await parser.parse(raw)
    expect(mail.attachments[0]).toMatchObject({ filename: '42.zip', size: bomb.length })
    expect(hash(attachmentBytes(raw, mail, 0) ?? Buffer.alloc(0))).toBe(hash(bomb))
  })
})

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
