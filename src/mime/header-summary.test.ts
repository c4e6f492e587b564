import { describe, expect, test } from 'vitest'
import { scanned } from '../../test/kit/mail/scan.ts'
import { readFromHeader, readHead } from './header-summary.ts'
import { decodeEncodedWords, readDate } from './header-values.ts'
import { parseMail } from './parse.ts'

const ENVELOPE = 'bounce@sender.test'
const head = (header: string, mailFrom = ENVELOPE) =>
  readHead(scanned(Buffer.from(`${header}\r\n\r\nFrom: body@example.test\r\n`, 'latin1')), mailFrom)
const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
const many = Array.from({ length: 400 }, (_, index) => `a${index}@a.test`).join(', ')
const long = 'x'.repeat(110_000)
const base64 = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`

describe('the sender', () => {
  for (const [name, header, senderEmail, senderName] of [
    ['is the mailbox of From', 'From: Ann <ann@example.test>', 'ann@example.test', 'Ann'],
    ['may be a bare address', 'From: ann@example.test', 'ann@example.test', ''],
    [
      'may have its name in a comment',
      'From: ann@example.test (Ann Bee)',
      'ann@example.test',
      'Ann Bee',
    ],
    ['may have a quoted name', 'From: "Bee, Ann" <ann@a.test>', 'ann@a.test', 'Bee, Ann'],
    ['may have a quoted local part', 'From: "ann bee"@a.test', '"ann bee"@a.test', ''],
    ['is the first of several', 'From: <a@a.test>, <b@b.test>', 'a@a.test', ''],
    ['is the first of very many', `From: ${many}`, 'a0@a.test', ''],
    ['is the first of a long group', `From: All: ${many};`, 'a0@a.test', ''],
    ['may stand before a long text', `From: Ann <a@a.test>, ${long}`, 'a@a.test', 'Ann'],
    ['is the first member of a group', 'From: All: Ann <a@a.test>, b@b.test;', 'a@a.test', 'Ann'],
    ['is that of the first From field', 'From: a@a.test\r\nFrom: b@b.test', 'a@a.test', ''],
    ['is not that of Sender', 'Sender: s@s.test\r\nFrom: a@a.test', 'a@a.test', ''],
    ['is not taken from X-From', 'X-From: x@x.test\r\nFrom: a@a.test', 'a@a.test', ''],
    ['is not taken from the body', 'Subject: x', ENVELOPE, ''],
    ['may be folded anywhere', 'From:\r\n Ann\r\n\t<ann@a.test>', 'ann@a.test', 'Ann'],
    ['may have blanks before the colon', 'From : ann@a.test', 'ann@a.test', ''],
    ['may have its name in capitals', 'FROM: ann@a.test', 'ann@a.test', ''],
    ['may have a comma in an unquoted name', 'From: Bee, Ann <ann@a.test>', 'ann@a.test', 'Ann'],
    ['may have an unclosed quote', 'From: "Ann <ann@a.test>', 'ann@a.test', '"Ann'],
    ['may have an unclosed comment', 'From: Ann (x <ann@a.test>', 'ann@a.test', 'Ann (x'],
    ['may have an extra bracket', 'From: Ann <home <ann@a.test>', 'ann@a.test', 'Ann'],
    ['may be at an address literal', 'From: ann@[IPv6:::1]', 'ann@[IPv6:::1]', ''],
    ['may have a name in raw UTF-8', utf8('From: Jürgen <j@a.test>'), 'j@a.test', 'Jürgen'],
    ['may have a name in raw Latin-1', 'From: J\xfcrgen <j@a.test>', 'j@a.test', 'Jürgen'],
    ['may have a domain in raw UTF-8', utf8('From: <j@bücher.test>'), 'j@bücher.test', ''],
    [
      'may have a comma in an encoded name',
      'From: =?utf-8?Q?Bee,_Ann?= <a@a.test>',
      'a@a.test',
      'Bee, Ann',
    ],
    ['is the envelope sender if From is empty', 'From: <>', ENVELOPE, ''],
    ['is the envelope sender if From is an empty group', 'From: undisclosed:;', ENVELOPE, ''],
    ['may have a name only', 'From: The Bank', ENVELOPE, 'The Bank'],
    ['may have a name and no address', 'From: "Facebook" <>', ENVELOPE, 'Facebook'],
    ['may have a name and an invalid address', 'From: Bank <a@b@c.test>', ENVELOPE, 'Bank'],
    [
      'may have a name and an address without a domain',
      'From: Mail Delivery Subsystem <MAILER-DAEMON>',
      ENVELOPE,
      'Mail Delivery Subsystem',
    ],
    ['is not the next mailbox if the first has no address', 'From: A <>, b@b.test', ENVELOPE, 'A'],
    ['is the next mailbox if the first is empty', 'From: <>, B <b@b.test>', 'b@b.test', 'B'],
    [
      'is never taken from an encoded word',
      `From: ${base64('bank@bank.test')}`,
      ENVELOPE,
      'bank@bank.test',
    ],
  ] as const) {
    test(name, () => {
      expect(head(header)).toMatchObject({ senderEmail, senderName })
      const [author] = parseMail(Buffer.from(`${header}\r\n\r\n`, 'latin1')).from
      const address = senderEmail === ENVELOPE ? '' : senderEmail
      expect(author ?? { name: '', address: '' }).toEqual({ name: senderName, address })
    })
  }

  test('of a bounce may have a name only', () =>
    expect(head('From: Mail Delivery Subsystem <MAILER-DAEMON>', '')).toEqual({
      senderName: 'Mail Delivery Subsystem',
      senderEmail: '',
      subject: '',
    }))

  test('is empty for a bounce without From', () =>
    expect(head('Subject: x', '')).toEqual({ senderName: '', senderEmail: '', subject: 'x' }))

  test('of the envelope is stripped of its route and control characters', () => {
    expect(head('Subject: x', '@relay.test:a@a.test').senderEmail).toBe('a@a.test')
    expect(head('Subject: x', 'a\r\nb@a.test').senderEmail).toBe('a b@a.test')
  })
})

describe('a forged From', () => {
  const [evil, fake] = ['evil@evil.test', 'admin@bank.test']
  for (const [name, from, senderEmail] of [
    ['quoted in the display name', `"${fake}" <${evil}>`, evil],
    ['bare in the display name', `${fake} <${evil}>`, evil],
    ['encoded in the display name', `${base64(`"${fake}"`)} <${evil}>`, evil],
    ['encoded with brackets and a comma', `${base64(`<${fake}>,`)}<${evil}>`, evil],
    ['encoded in Q with raw quotes', `=?utf-8?Q?"${fake}"?= <${evil}>`, evil],
    ['encoded and alone', base64(`<${fake}>`), ENVELOPE],
    ['encoded in Q and alone', `=?utf-8?Q?${fake}?=`, ENVELOPE],
    ['with an encoded local part', `<${base64('admin')}@bank.test>`, ENVELOPE],
    ['with an encoded local part and no brackets', `${base64('admin')}@bank.test`, ENVELOPE],
    ['in a comment before', `(<${fake}>) <${evil}>`, evil],
    ['in a comment after', `<${evil}> (<${fake}>)`, evil],
    ['in a nested comment', `(a(<${fake}>)b) <${evil}>`, evil],
    ['as a route', `<@bank.test,@any.test:${evil}>`, evil],
    ['as a route with a whole address', `<${fake},@any.test:${evil}>`, ENVELOPE],
    ['with two at signs', `<${fake}@evil.test>`, ENVELOPE],
    ['with two at signs and no brackets', `${fake}@evil.test`, ENVELOPE],
    ['as a quoted local part', `<"${fake}"@evil.test>`, `"${fake}"@evil.test`],
    ['with an escaped comma', `<${evil}>\\,<${fake}>`, evil],
    ['with a NUL', `<${fake}\0@evil.test>`, ENVELOPE],
    ['as a group name', `"${fake}": ${evil};`, evil],
    ['before a comma in a long name', `" ${fake}, ${long}" <${evil}>`, ENVELOPE],
    ['in brackets in a long name', `" <${fake}> ${long}" <${evil}>`, ENVELOPE],
    ['in a long encoded word', `=?utf-8?Q?,${fake},${long}?= <${evil}>`, ENVELOPE],
    ['in a bracket that the real one closes', `<${fake} <${evil}>`, evil],
    ['before a comma in a long comment', `( ${fake}, ${long}) <${evil}>`, ENVELOPE],
    ['before a comma in a long route', `< ${fake}, @${long}:${evil}>`, ENVELOPE],
    ['as the beginning of an address', `${' '.repeat(4_080)}${fake}.evil.test`, ENVELOPE],
    ['as the beginning of a late one', `${';'.repeat(32_752)}${fake}.evil.test`, ENVELOPE],
    ['with a bare CR', `${evil}\rFrom: ${fake}`, evil],
  ] as const) {
    test(`${name} does not become the sender`, () => {
      expect(head(`From: ${from}`).senderEmail).toBe(senderEmail)
      const mail = parseMail(Buffer.from(`X: ${long}\nFrom: ${from}\nReply-To: ${from}\n\n`))
      expect([mail.from[0]?.address, mail.replyTo[0]?.address]).not.toContain(fake)
    })
  }

  for (const [name, header] of [
    ['after a leading blank', ` From: ${fake}\r\nFrom: ${evil}`],
    ['after a byte order mark', `\xef\xbb\xbfFrom: ${fake}\r\nFrom: ${evil}`],
    ['after a no-break space', `\xc2\xa0From: ${fake}\r\nFrom: ${evil}`],
    ['as a folded line of another header', `X: y\r\n From: ${fake}\r\nFrom: ${evil}`],
    ['in a second header', `From: ${evil}\r\nFrom: ${fake}`],
    ['in an mbox line', `From ${fake} Mon Jan 1\r\nFrom: ${evil}`],
  ] as const) {
    test(`${name} does not become the sender`, () => expect(head(header).senderEmail).toBe(evil))
  }
})

describe('the subject', () => {
  for (const [name, subject, expected] of [
    ['is as written', 'Your code is 123456', 'Your code is 123456'],
    ['may be empty', '', ''],
    ['is unfolded', 'one\r\n two\r\n\tthree', 'one two three'],
    ['may be raw UTF-8', utf8('✓ grün'), '✓ grün'],
    ['may be raw Latin-1', 'gr\xfcn', 'grün'],
    ['may be in base64', '=?UTF-8?b?4pyTIGdyw7xu?=', '✓ grün'],
    ['may be in Q', '=?iso-8859-1?q?gr=FCn_und_=20rot?=', 'grün und  rot'],
    ['may name a language', '=?utf-8*de?Q?gr=C3=BCn?=', 'grün'],
    ['joins a character split between two words', '=?utf-8?B?4pw=?= =?utf-8?B?kw==?=', '✓'],
    ['joins a character split by folding', '=?utf-8?Q?=E2=9C?=\r\n =?utf-8?Q?=93?=', '✓'],
    ['joins a character split between B and Q', '=?utf-8?B?4pw=?= =?UTF-8?Q?=93?=', '✓'],
    ['drops blanks between words', '=?utf-8?Q?a?=   =?utf-8?Q?b?=', 'ab'],
    // RFC 2047 knows only blanks and tabs.
    ['keeps other space between words', '=?utf-8?Q?a?=\u00a0=?utf-8?Q?b?=', 'a\u00a0b'],
    ['keeps blanks between word and text', '=?utf-8?Q?a?= b =?utf-8?Q?c?=', 'a b c'],
    ['may change its charset', '=?utf-8?Q?=C3=BC?= =?iso-8859-1?Q?=FC?=', 'üü'],
    ['may have an unknown charset', '=?x-none?Q?gr=C3=BCn?= =?x-no?Q?=FC?=', 'grünü'],
    ['may have a charset named like a property', '=?__proto__?Q?x?=', 'x'],
    ['may have an unclosed encoded word', '=?utf-8?B?4pyT', '=?utf-8?B?4pyT'],
    ['is not decoded twice', base64('=?utf-8?Q?x?='), '=?utf-8?Q?x?='],
    ['cannot inject a header', '=?utf-8?Q?a=0D=0ABcc:_b@b.test?=', 'a Bcc: b@b.test'],
    ['loses NUL, escape and delete', 'a\0b\x1b[31mc\x7f', 'ab[31mc'],
    ['loses bidirectional controls', base64('abc\u202ecba\u2066x'), 'abccbax'],
    ['may be in ISO-2022-JP', '=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=', '日本'],
    [
      'may be in ISO-2022-JP in several words',
      '=?ISO-2022-JP?B?GyRCJUYlOSVIGyhC?=\r\n =?ISO-2022-JP?B?GyRCJUYlOSVIGyhC?=',
      'テストテスト',
    ],
    [
      'may be in UTF-7 with a word that its end shifts back',
      '=?utf-7?Q?+ZeVnLIqe?= =?utf-7?Q?+ZeVnLIqe-?=',
      '日本語日本語',
    ],
    ['may repeat its byte order mark', '=?utf-16?B?/v8wQg==?= =?utf-16?B?/v8wRA==?=', 'あい'],
  ] as const) {
    test(name, () => expect(head(`Subject: ${subject}`).subject).toBe(expected))
  }

  test('is truncated to 998 characters, never inside one', () => {
    expect(head(`Subject: ${'x'.repeat(5_000)}`).subject).toHaveLength(998)
    const astral = head(`Subject: x${utf8('😀'.repeat(2_000))}`).subject
    expect([astral.length, astral.isWellFormed()]).toEqual([997, true])
  })

  test('may have a word of very many pieces', () =>
    expect(decodeEncodedWords(`=?u?Q?a?= =?u?Q?${'aé'.repeat(200_000)}?=`)).toHaveLength(400_001))

  test('is the first of several', () => expect(head('Subject: a\r\nSubject: b').subject).toBe('a'))
})

describe('a malformed header block', () => {
  const empty = { senderName: '', senderEmail: ENVELOPE, subject: '' }
  for (const [name, raw] of [
    ['that is empty', ''],
    ['that is missing', '\r\nSubject: x\r\n\r\n'],
    ['of one NUL', '\0'],
    ['of line ends', '\n\n\n'],
    ['with names of properties', '__proto__: x\r\nconstructor: y\r\n\r\n'],
  ] as const) {
    test(`${name} gives the envelope sender and nothing else`, () =>
      expect(readHead(scanned(Buffer.from(raw)), ENVELOPE)).toEqual(empty))
  }

  for (const [name, before] of [
    ['1,000 lines', 'X: y\r\n'.repeat(1_000)],
    ['100 KB', `X: ${'y'.repeat(102_400)}\r\n`],
    ['1 MB of folded lines', `X: y${'\r\n y'.repeat(250_000)}\r\n`],
    ['lines that are no fields', `\r${' From\r\nFrom\nfromm: x\n'.repeat(50_000)}`],
  ] as const) {
    test(`may have sender and subject after ${name}, for lists and for the parser`, () => {
      const late = `${before}fROM\t : ${utf8('Jürgen')}\r\n <j@a.test>\r\nSubject: z\r\n\r\nx`
      const raw = Buffer.from(late, 'latin1')
      const expected = { senderName: 'Jürgen', senderEmail: 'j@a.test', subject: 'z' }
      expect(readHead(scanned(raw), ENVELOPE)).toEqual(expected)
      expect(readFromHeader(scanned(raw)).address).toBe('j@a.test')
      const { from, headers, text } = parseMail(raw)
      expect(from).toEqual([{ name: 'Jürgen', address: 'j@a.test' }])
      expect(headers.findLast(({ name }) => name === 'Subject')?.value).toBe('z')
      expect(text).toBe('x')
    })
  }

  test('may have a very long field, which is cut after a whole address', () => {
    const address = `a@${'a'.repeat(60)}.test`
    for (const separator of [', ', ',', ';', ',\r\n\t']) {
      const list = `${address}${separator}`.repeat(5_000)
      const { to, text } = parseMail(Buffer.from(`To: ${list}\r\n\r\nx`))
      expect(to.length).toBeGreaterThan(400)
      expect([new Set(to.map((one) => one.address)), text]).toEqual([new Set([address]), 'x'])
    }
  })

  test('may have bare LF line ends, or no end at all', () => {
    expect(readHead(scanned(Buffer.from('From: a@a.test\nSubject: s\n\nx')), '').subject).toBe('s')
    expect(readHead(scanned(Buffer.from('From: a@a.test\nSubject: s')), '').subject).toBe('s')
  })

  test('may be a view of a larger buffer', () => {
    const buffer = Buffer.from('Subject: no\r\nSubject: yes\r\n\r\n')
    expect(readHead(scanned(buffer.subarray(13)), '').subject).toBe('yes')
  })
})

describe('a date', () => {
  for (const [line, expected] of [
    ['Tue, 3 Mar 2026 10:14:21 +0100', '2026-03-03T09:14:21.000Z'],
    ['3 Mar 2026 10:14 -0000', '2026-03-03T10:14:00.000Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37.000Z'],
    ['Fri, 21 Nov 97 09:55:06 EST', '1997-11-21T14:55:06.000Z'],
    ['Thu, 13 Feb 1969 23:32 -0330 (Newfoundland Time)', '1969-02-14T03:02:00.000Z'],
    ['Fri, 31 Dec 9999 23:59:59 +0000', '9999-12-31T23:59:59.000Z'],
    ['Fri, 31 Dec 9999 23:59:59 -0100', null],
    ['Sat, 1 Jan 0000 00:00:00 +0000', null],
    ['Sat, 13 Sep 275760 00:00:00 +0000', null],
    ['Tue, 31 Foo 2026 10:00:00 +0000', null],
    ['Tue, 3 Mar 2026 99:99:99 +0000', null],
    ['2026-03-03T10:14:21Z', '2026-03-03T10:14:21.000Z'],
    ['Whenever', null],
    ['5', null],
    ['', null],
  ] as const) {
    test(`${JSON.stringify(line)} is ${expected}`, () => expect(readDate(line)).toBe(expected))
  }
})

describe('the address that rules are compared with', () => {
  for (const [name, header, expected] of [
    ['is that of the only From field', 'Subject: s\r\nFrom: Ann <a@a.test>', 'a@a.test'],
    ['is the first of several mailboxes', 'From: <a@a.test>, <b@b.test>', 'a@a.test'],
    ['is the first of very many', `From: ${many}`, 'a0@a.test'],
    ['is missing without From', 'Sender: s@s.test', undefined],
    ['is missing if From has no address', 'From: Ann', undefined],
    ['is missing if the first mailbox has none', 'From: A <>, <b@b.test>', undefined],
    [
      'is missing with two From fields',
      'From: a@a.test\r\nSubject: s\r\nfrom: a@a.test',
      undefined,
    ],
    [
      'is missing with a second From field at the end of a long header',
      `From: a@a.test\r\nX: ${'x'.repeat(1_000_000)}\r\nFrom: b@b.test`,
      undefined,
    ],
    ['is that of a long header', `From: a@a.test\r\nX: ${'x'.repeat(1_000_000)}`, 'a@a.test'],
  ] as const) {
    test(name, () => {
      const raw = Buffer.from(`${header}\r\n\r\nFrom: body@example.test\r\n`)
      expect(readFromHeader(scanned(raw)).address).toBe(expected)
    })
  }
})
