import { describe, expect, test } from 'vitest'
import { readIsemail } from '../../test/kit/smtp/isemail.ts'
import { isReversePath } from './reverse-path.ts'
import { oneChunk, transcript } from './testing/transcript.ts'

// By RFC 5321. The lengths that we tolerate are not part of the syntax.
const ISEMAIL_VALID = new Set(['ISEMAIL_VALID_CATEGORY', 'ISEMAIL_DNSWARN', 'ISEMAIL_RFC5321'])
const TOLERATED = /_TOOLONG$|^ISEMAIL_RFC5321_IPV6DEPRECATED$/

const HELLO = 'EHLO a.test\r\n'

function replyTo(line: string, before = HELLO): string {
  const { replies } = transcript(oneChunk(Buffer.from(`${before}${line}\r\n`)))
  return replies.split('\r\n').at(-2) ?? ''
}

describe('MAIL', () => {
  for (const [argument, reply] of [
    ['FROM:<>', '250 2.1.0'],
    ['FROM:<a@a.test>', '250 2.1.0'],
    ['from: <a@a.test>', '250 2.1.0'],
    ['FROM:<"a b"@a.test>', '250 2.1.0'],
    ['FROM:<"a>b"@a.test>', '250 2.1.0'],
    ['FROM:<"a\\"b"@a.test>', '250 2.1.0'],
    ['FROM:<@hop.test:a@a.test>', '250 2.1.0'],
    ['FROM:<a@[192.0.2.1]>', '250 2.1.0'],
    ['FROM:<@one.test,@two.test:a@a.test>', '250 2.1.0'],
    ['FROM:<@[192.0.2.1]:a@a.test>', '250 2.1.0'],
    ['FROM:<a@[IPv6:2001:db8::1]>', '250 2.1.0'],
    ['FROM:<a@[ipv6:::ffff:192.0.2.1]>', '250 2.1.0'],
    ['FROM:<a@[192.000.002.001]>', '250 2.1.0'],
    ['FROM:<a@[x-tag:content]>', '501 5.1.7'],
    ["FROM:<!#$%&'*+-/=?^_`{|}~@a.test>", '250 2.1.0'],
    ['FROM:<bounce+ann=box.test@a.test>', '250 2.1.0'],
    [`FROM:<${'a'.repeat(200)}@a.test>`, '250 2.1.0'],
    ['FROM:<a@_b.c_d.test>', '250 2.1.0'],
    ['FROM:<a@localhost>', '250 2.1.0'],
    ['FROM:<a@1.2.3>', '250 2.1.0'],
    ['FROM:<a@xn--bcher-kva.test>', '250 2.1.0'],
    ['FROM:<"a@b"@a.test>', '250 2.1.0'],
    ['FROM:<""@a.test>', '250 2.1.0'],
    ['FROM:<é"@a.test> SMTPUTF8', '501 5.1.7'],
    ['FROM:<é@bücher.test> SMTPUTF8', '250 2.1.0'],
    ['FROM:<"é\\""@例え.test> SMTPUTF8', '250 2.1.0'],
    ['FROM:<a@b@c>', '501 5.1.7'],
    ['FROM:<a@x..com>', '501 5.1.7'],
    ['FROM:<a@.x.com>', '501 5.1.7'],
    ['FROM:<a@x.com.>', '501 5.1.7'],
    ['FROM:<a@-x.com>', '501 5.1.7'],
    ['FROM:<a@x-.com>', '501 5.1.7'],
    ['FROM:<a@x!y.com>', '501 5.1.7'],
    ['FROM:<a@[300.1.1.1]>', '501 5.1.7'],
    ['FROM:<a@[1.2.3]>', '501 5.1.7'],
    ['FROM:<a@[1.2.3.4>', '501 5.1.7'],
    ['FROM:<a@1.2.3.4]>', '501 5.1.7'],
    ['FROM:<a@[IPv6:1::2::3]>', '501 5.1.7'],
    ['FROM:<a@[IPv6:fe80::1%eth0]>', '501 5.1.7'],
    ['FROM:<a@[2001:db8::1]>', '501 5.1.7'],
    ['FROM:<a@[]>', '501 5.1.7'],
    ['FROM:<.a@a.test>', '501 5.1.7'],
    ['FROM:<a.@a.test>', '501 5.1.7'],
    ['FROM:<a..b@a.test>', '501 5.1.7'],
    ['FROM:<a,b@a.test>', '501 5.1.7'],
    ['FROM:<a(c)@a.test>', '501 5.1.7'],
    ['FROM:<"a"b@a.test>', '501 5.1.7'],
    ['FROM:<"a"."b"@a.test>', '501 5.1.7'],
    ['FROM:<@one.test:>', '501 5.1.7'],
    ['FROM:<@one.test,two.test:a@a.test>', '501 5.1.7'],
    ['FROM:<one.test:a@a.test>', '501 5.1.7'],
    ['FROM:<a@a.test> BODY=7BIT', '250 2.1.0'],
    ['FROM:<a@a.test> body=8bitmime size=5', '250 2.1.0'],
    ['FROM:<a@a.test>  SIZE=5  SMTPUTF8 ', '250 2.1.0'],
    ['FROM:<é@a.test> SMTPUTF8', '250 2.1.0'],
    ['FROM:<é@a.test>', '550 5.6.7'],
    ['', '501 5.1.7'],
    ['FROM', '501 5.1.7'],
    ['FROM:', '501 5.1.7'],
    ['FROM:a@a.test', '501 5.1.7'],
    ['FROM:<a@a.test', '501 5.1.7'],
    ['FROM:<<a@a.test>>', '501 5.1.7'],
    ['FROM:<a@a.test>>', '501 5.1.7'],
    ['FROM:<a@a.test>SIZE=5', '501 5.1.7'],
    ['FROM:<a>', '501 5.1.7'],
    ['FROM:<@>', '501 5.1.7'],
    ['FROM:<@a.test>', '501 5.1.7'],
    ['FROM:<a@>', '501 5.1.7'],
    ['FROM:<a b@a.test>', '501 5.1.7'],
    ['FROM:<a@a test>', '501 5.1.7'],
    ['FROM:<"a@a.test>', '501 5.1.7'],
    [`FROM:<${'a'.repeat(330)}@a.test>`, '501 5.1.7'],
    ['TO:<a@a.test>', '501 5.1.7'],
    ['FROM:<a@a.test> BODY', '501 5.5.4'],
    ['FROM:<a@a.test> BODY=', '501 5.5.4'],
    ['FROM:<a@a.test> BODY=BINARYMIME', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE=', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE=abc', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE=-1', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE=1e9', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE==', '501 5.5.4'],
    ['FROM:<a@a.test> SIZE=1 SIZE=2', '501 5.5.4'],
    ['FROM:<a@a.test> SMTPUTF8=1', '501 5.5.4'],
    ['FROM:<a@a.test> =', '501 5.5.4'],
    ['FROM:<a@a.test> __proto__=1', '501 5.5.4'],
    ['FROM:<a@a.test> constructor=1', '555 5.5.4'],
    ['FROM:<a@a.test> RET', '555 5.5.4'],
    ['FROM:<a@a.test> RET=HDRS', '555 5.5.4'],
    ['FROM:<a@a.test> X=+0D+0A', '555 5.5.4'],
    ['FROM:<a@a.test> AUTH="', '555 5.5.4'],
    [`FROM:<a@a.test>${' a'.repeat(400)}`, '555 5.5.4'],
    [`FROM:<a@a.test>${' a'.repeat(1_000)}`, '500 5.5.2'],
  ] as const) {
    test(`${argument.slice(0, 50)} gets ${reply}`, () => {
      expect(replyTo(`MAIL ${argument}`).slice(0, 9)).toBe(reply)
    })
  }

  for (const [file, count] of [
    ['tests.xml', 164],
    ['tests-original.xml', 279],
  ] as const) {
    test(`isemail agrees about ${count} addresses`, () => {
      const cases = readIsemail(file)
      expect(cases.length).toBe(count)
      // The empty one is the path of a bounce.
      for (const { address, category, diagnosis } of cases) {
        const isValid = ISEMAIL_VALID.has(category) || TOLERATED.test(diagnosis) || address === ''
        expect(isReversePath(address), `${diagnosis}: ${address}`).toBe(isValid)
      }
    })
  }

  test('the reverse-path is passed on as written; Object.prototype is untouched', () => {
    const session = `${HELLO}MAIL FROM:<"A b"@A.test> SMTPUTF8\r\nRCPT TO:<x@y>\r\nDATA\r\n.\r\n`
    const [mail] = transcript(oneChunk(Buffer.from(session))).mails
    expect.assert(mail?.mailFrom === '"A b"@A.test')
    expect.assert(mail.protocol === 'UTF8SMTP')
    expect(Object.hasOwn(Object.prototype, 'SMTPUTF8')).toBe(false)
  })
})

describe('RCPT', () => {
  const before = `${HELLO}MAIL FROM:<>\r\n`

  // Classic relay probes, and forms that have fooled other servers: each must be passed on as written.
  for (const text of [
    'u@foreign.test',
    'u@[127.0.0.1]',
    'u%foreign.test@[127.0.0.1]',
    'u%foreign.test@box.test',
    '"u@foreign.test"',
    '"u%foreign.test"',
    'u@foreign.test@[127.0.0.1]',
    '"u@foreign.test"@[127.0.0.1]',
    'u@foreign.test@box.test',
    '@[127.0.0.1]:u@foreign.test',
    '@box.test:u@foreign.test',
    'foreign.test!u',
    'foreign.test!u@[127.0.0.1]',
    'foreign.test!u@box.test',
    'postmaster',
    'Postmaster@BOX.test',
    '',
    '"a>b"@box.test',
    `${'a'.repeat(255)}@box.test`,
  ]) {
    test(`<${text.slice(0, 40)}> is passed on as written`, () => {
      const { recipientPaths } = transcript(oneChunk(Buffer.from(`${before}RCPT TO:<${text}>\r\n`)))
      expect(recipientPaths).toStrictEqual([text])
    })
  }

  test('a non-ASCII address is passed on with SMTPUTF8, else rejected', () => {
    const line = 'RCPT TO:<ann@bücher.test>\r\n'
    const withUtf8 = transcript(oneChunk(Buffer.from(`${HELLO}MAIL FROM:<> SMTPUTF8\r\n${line}`)))
    expect(withUtf8.recipientPaths).toStrictEqual(['ann@bücher.test'])
    const withoutUtf8 = transcript(oneChunk(Buffer.from(`${before}${line}`)))
    expect(withoutUtf8.recipientPaths).toStrictEqual([])
    expect(withoutUtf8.replies).toMatch(/\r\n550 5\.6\.7 [^\r]*\r\n$/)
  })

  for (const [argument, reply] of [
    ['', '501 5.1.3'],
    ['TO:', '501 5.1.3'],
    ['TO:ann@box.test', '501 5.1.3'],
    ['TO:<ann@box.test', '501 5.1.3'],
    ['TO:<ann@box.test>x', '501 5.1.3'],
    ['FROM:<ann@box.test>', '501 5.1.3'],
    ['TO:<ann@box.test> NOTIFY', '555 5.5.4'],
    ['TO:<ann@box.test> NOTIFY=NEVER', '555 5.5.4'],
    ['TO:<ann@box.test> ORCPT=', '501 5.5.4'],
    ['TO:<ann@box.test> __proto__', '501 5.5.4'],
  ] as const) {
    test(`${argument} gets ${reply}`, () => {
      expect(replyTo(`RCPT ${argument}`, before).slice(0, 9)).toBe(reply)
    })
  }
})
