import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseMail } from './parse.ts'
import { attachmentBytes } from './testing/attachment.ts'

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}.eml`, import.meta.url))
const parse = (lines: string[]) => parseMail(Buffer.from(lines.join('\r\n'), 'latin1'))
const multipart = (type: string, ...parts: string[]) =>
  parse([
    `Content-Type: multipart/${type}; boundary=b`,
    '',
    ...parts.flatMap((part) => ['--b', ...part.split('|')]),
    '--b--',
  ])

describe('sample mails:', () => {
  test('text and HTML alternatives are both returned', () => {
    const mail = parseMail(fixture('verification-code'))
    expect(mail).toMatchObject({
      from: [{ name: 'Northwind ✈ Accounts', address: 'no-reply@northwind.test' }],
      replyTo: [{ name: 'Northwind Support', address: 'help@northwind.test' }],
      messageId: '20260303101421.4F2A1C0B3D@mail.northwind.test',
      date: '2026-03-03T09:14:21.000Z',
      attachments: [],
    })
    expect(mail.text).toContain('your code is 481516. It is good')
    expect(mail.text).toContain('token=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4&next=%2Fhome\n')
    expect(mail.html).toContain('<span class="code">481516</span>')
    expect(mail.headers.map(({ name }) => name)).toContain('DKIM-Signature')
    expect(mail.headers).toContainEqual({ name: 'Subject', value: 'Your code is 481516 ✅' })
  })

  test('HTML without a text is converted to text', () => {
    const { text, html, from } = parseMail(fixture('newsletter-latin1'))
    expect(from).toEqual([{ name: 'Körner & Söhne', address: 'post@koerner.test' }])
    expect(html).toContain('T\u00f6pfe &amp; Schalen')
    expect(text).toContain('Schöne Grüße! Töpfe & Schalen für 9,90 €.')
    expect(text).toContain(' * Größe L')
    expect(text).toContain('[https://koerner.test/abmelden?id=9]')
    expect(text).not.toContain('pixel.gif')
  })

  test('files and images are attachments, in order', () => {
    const raw = fixture('invoice-with-attachments')
    const mail = parseMail(raw)
    expect(mail.cc.map(({ address }) => address)).toEqual(['a1@acme.test', 'a2@acme.test'])
    expect(mail.attachments.map(({ position: _, ...note }) => note)).toEqual([
      {
        index: 0,
        filename: 'logo.png',
        contentType: 'image/png',
        size: 74,
        contentId: 'logo@acme.test',
        inline: true,
      },
      {
        index: 1,
        filename: 'Rechnung März € 2026.pdf',
        contentType: 'application/pdf',
        size: 1_083,
        contentId: null,
        inline: false,
      },
      {
        index: 2,
        filename: 'Posten übersicht.csv',
        contentType: 'text/csv',
        size: 26,
        contentId: null,
        inline: false,
      },
    ])
    const bytes = attachmentBytes(raw, parseMail(raw), 2)
    expect(bytes?.toString()).toBe('item;price\r\nGröße L;9,90')
  })

  test('the message in a bounce is an attachment', () => {
    const raw = fixture('bounce')
    const { text, attachments } = parseMail(raw)
    expect(text).toContain('unknown user: "nobody"')
    expect(text).not.toContain('anybody there')
    expect(attachments.map(({ filename }) => filename)).toEqual([
      'attachment-1.txt',
      'attachment-2.eml',
    ])
    const returned = parseMail(attachmentBytes(raw, parseMail(raw), 1) ?? Buffer.alloc(0))
    expect(returned).toMatchObject({ text: 'anybody there', to: [{ address: 'nobody@acme.test' }] })
  })

  test('flowed lines are joined', () =>
    expect(parseMail(fixture('japanese-flowed')).text).toBe(
      '本日はご登録いただき、ありがとうございます。認証コードは 192837 です。\n\n> 前のメール\n-- \n山田商店\n',
    ))

  test('the calendar of an invitation is an attachment', () => {
    const { text, attachments } = parseMail(fixture('calendar-invite'))
    expect(text).toBe('You have been invited.\n\nStand-up\nMonday, 9 March 2026, 09:00\n')
    expect(attachments.map(({ filename, inline }) => [filename, inline])).toEqual([
      ['attachment-1.ics', true],
      ['invite.ics', false],
    ])
  })

  test('mail without a header is all body', () =>
    expect(parseMail(fixture('telnet'))).toMatchObject({
      text: 'just a line typed into a terminal\n',
      headers: [],
    }))
})

describe('the body', () => {
  const plain = 'Content-Type: text/plain||plain'
  const html = 'Content-Type: text/html||<b>html</b>'

  for (const [name, mail, expected] of [
    ['may be empty', parse(['X: y', '', '']), { text: '', html: null }],
    ['is text and HTML of the alternatives', multipart('alternative', plain, html), both()],
    [
      'is text and HTML of the alternatives in reverse order',
      multipart('alternative', html, plain),
      both(),
    ],
    [
      'made of HTML alone is text as well',
      multipart('alternative', html),
      { text: 'html', html: '<b>html</b>' },
    ],
    [
      'that is blank as text is made from the HTML',
      multipart('alternative', 'Content-Type: text/plain||  ', html),
      { text: 'html', html: '<b>html</b>' },
    ],
    [
      'of several parts is all of them',
      multipart('mixed', plain, html),
      {
        text: 'plain\nhtml',
        html: '<div style="white-space: pre-wrap">plain</div>\n<b>html</b>',
      },
    ],
    [
      'does not include attachments',
      multipart('mixed', plain, `${attached('text/plain')}||x`),
      one(),
    ],
    [
      'is not a named text further down',
      multipart('mixed', plain, 'Content-Type: text/plain; name=a.txt||x'),
      one(),
    ],
    [
      'does not include alternatives of unknown type',
      multipart('alternative', plain, 'Content-Type: a/b||x'),
      one(),
    ],
    [
      'may be the second of related parts',
      multipart('related', 'Content-Type: image/png||x', html),
      { text: 'html', html: '<b>html</b>', attachments: [{ contentType: 'image/png' }] },
    ],
    ['may be another text subtype', parse(['Content-Type: text/x-notes', '', 'plain']), one()],
    [
      'is not a lone file',
      parse(['Content-Type: text/csv; name=a.csv', '', 'a;b']),
      { text: '', html: null, attachments: [{ filename: 'a.csv' }] },
    ],
    ['may have no type', multipart('mixed', '|plain'), one()],
    ['may have an invalid type', multipart('mixed', 'Content-Type: plain||plain'), one()],
    [
      'is that of the first of two types',
      parse(['Content-Type: text/plain', 'Content-Type: text/html', '', '<b>x</b>']),
      { text: '<b>x</b>', html: null },
    ],
    ['may be in an unclosed multipart', parse(boundary('b', ['--b', '', 'plain'])), one()],
    ['may be a multipart without a part', parse(boundary('b', ['plain'])), one()],
    ['may be a multipart without a boundary', parse(boundary('', ['plain'])), one()],
    [
      'may have a boundary that ends in a blank',
      parse(boundary('b ', ['--b ', '', 'plain', '--b --'])),
      one(),
    ],
    [
      'ends at an outer boundary too',
      parse(
        boundary('b', [
          '--b',
          'Content-Type: multipart/mixed; boundary=bb',
          '',
          '--bb',
          '',
          'plain',
          '--b--',
          'x',
        ]),
      ),
      one(),
    ],
    [
      'is not ended by half a boundary or by more than one',
      parse(boundary('bb', ['--bb', '', 'a', '--b', '--bbb', '--bb--'])),
      { text: 'a\n--b\n--bbb', html: null },
    ],
    [
      'may have a part header that runs into the next part',
      parse(boundary('b', ['--b', 'X: y', '--b', '', 'plain', '--b--'])),
      { text: '\nplain', html: null },
    ],
    [
      'takes the first of two boundaries',
      parse(['Content-Type: multipart/mixed; boundary=b; boundary=c', '', '--b', '', 'plain']),
      one(),
    ],
    ['loses its NULs', parse(['X: y', '', 'pl\0ain']), one()],
  ] as const) {
    test(name, () => expect(mail).toMatchObject(expected))
  }

  function one() {
    return { text: 'plain', html: null }
  }
  function both() {
    return { text: 'plain', html: '<b>html</b>' }
  }
  function attached(type: string): string {
    return `Content-Type: ${type}|Content-Disposition: attachment`
  }
  function boundary(text: string, lines: string[]): string[] {
    return [`Content-Type: multipart/mixed; boundary="${text}"`, '', ...lines]
  }
})

test('headers are returned in order, decoded and unfolded, whatever their names', () => {
  const { headers } = parse([
    '__proto__: polluted',
    'constructor: a',
    'toString: b',
    'X-Long: one',
    ' two',
    'no header',
    'X-Word: =?utf-8?Q?a=0D=0Ab?=',
    '',
    '',
  ])
  expect(headers).toEqual([
    { name: '__proto__', value: 'polluted' },
    { name: 'constructor', value: 'a' },
    { name: 'toString', value: 'b' },
    { name: 'X-Long', value: 'one two' },
    { name: 'X-Word', value: 'a b' },
  ])
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
})

describe('content type', () => {
  for (const [given, expected] of [
    ['IMAGE/PNG', 'image/png'],
    ['image/svg+xml; charset=x', 'image/svg+xml'],
    ['__proto__/x; name=a', 'application/octet-stream'],
    ['image/png\\r\\nX: y; name=a', 'application/octet-stream'],
    ['x; name=a', 'application/octet-stream'],
  ] as const) {
    test(`${JSON.stringify(given)} is returned as ${expected}`, () =>
      expect(parse([`Content-Type: ${given}`, '', 'x']).attachments[0]?.contentType).toBe(expected))
  }
})

describe('a message id', () => {
  for (const [line, expected] of [
    ['<a.b@c.test>', 'a.b@c.test'],
    ['(comment) <a@c.test> x', 'a@c.test'],
    ['a@c.test', 'a@c.test'],
    ['<a b@c.test>', null],
    ['<\xfc@c.test>', null],
    ['<>', null],
    ['', null],
  ] as const) {
    test(`${JSON.stringify(line)} is ${expected}`, () =>
      expect(parse([`Message-ID: ${line}`, '', '']).messageId).toBe(expected))
  }
})

test('the addresses of all To fields are returned; names without an address only if there is none', () => {
  expect(parse(['To: Ann, <a@a.test>', 'To: b@b.test', '', '']).to).toEqual([
    { name: '', address: 'a@a.test' },
    { name: '', address: 'b@b.test' },
  ])
  expect(parse(['To: Nobody', '', '']).to).toEqual([{ name: 'Nobody', address: '' }])
  expect(parse(['To: undisclosed-recipients:;', '', '']).to).toEqual([])
})

test('of two dates, the first is returned', () =>
  expect(parse(['Date: 1 Jan 2001 00:00 +0000', 'Date: 1 Jan 2002 00:00 +0000', '', '']).date).toBe(
    '2001-01-01T00:00:00.000Z',
  ))

describe('htmlText', () => {
  const text = 'Content-Type: text/plain||See https://news.test/a-very-long-link-to-a-page'
  const page = 'Content-Type: text/html||<h1>News</h1><p>Three <b>recipes</b></p>'
  for (const [name, mail, expected] of [
    [
      'is the text of HTML that says more than the text part',
      [text, page],
      'News\n\nThree recipes',
    ],
    ['is missing if the text part says as much', [text, 'Content-Type: text/html||See'], undefined],
    ['is missing if the text was made from the HTML', [page], undefined],
    ['is missing without HTML', [text], undefined],
  ] as const) {
    test(name, () => {
      expect(multipart('alternative', ...mail).htmlText?.text).toBe(expected)
    })
  }

  test('is cut where pages cut it, and says so', () => {
    const long = `Content-Type: text/html||${'word '.repeat(60_000)}`
    const { htmlText, truncated } = multipart('alternative', text, long)
    expect([htmlText?.text.length, htmlText?.truncated]).toEqual([256 * 1024, true])
    expect(truncated).toBeUndefined()
  })
})
