import { describe, expect, test } from 'vitest'
import { byteByByte, OPENING, oneChunk, splitAt, transcript } from './testing/transcript.ts'

const HELLO = 'EHLO a.test\r\n'
const MAIL = 'MAIL FROM:<a@a.test>\r\n'
const RCPT = 'RCPT TO:<ann@box.test>\r\n'

/** The reply to the last line of a session. */
function last(session: string): string {
  return (
    transcript(oneChunk(Buffer.from(session, 'latin1')))
      .replies.split('\r\n')
      .at(-2) ?? ''
  )
}

describe('a command out of sequence', () => {
  for (const [session, reply] of [
    [MAIL, '503 5.5.1'],
    [RCPT, '503 5.5.1'],
    ['DATA\r\n', '503 5.5.1'],
    [HELLO + RCPT, '503 5.5.1'],
    [`${HELLO}DATA\r\n`, '503 5.5.1'],
    [`${HELLO + MAIL}DATA\r\n`, '554 5.5.1'],
    [HELLO + MAIL + MAIL, '503 5.5.1'],
    [HELLO + MAIL + RCPT + HELLO + RCPT, '503 5.5.1'],
    [`${HELLO + MAIL + RCPT}RSET\r\nDATA\r\n`, '503 5.5.1'],
    [`${OPENING}.\r\nDATA\r\n`, '503 5.5.1'],
  ] as const) {
    test(`${JSON.stringify(session)} gets ${reply}`, () => {
      expect(last(session).slice(0, 9)).toBe(reply)
    })
  }
})

describe('a line', () => {
  for (const [line, reply] of [
    ['', '500 5.5.2'],
    [' ', '500 5.5.2'],
    ['NOOP', '250 2.0.0'],
    ['noop', '250 2.0.0'],
    ['NOOP whatever', '250 2.0.0'],
    ['NOOPS', '500 5.5.2'],
    ['RSET x', '501 5.5.4'],
    ['QUIT x', '501 5.5.4'],
    ['DATA x', '501 5.5.4'],
    ['STARTTLS x', '501 5.5.4'],
    ['EHLO', '501 5.5.4'],
    ['VRFY', '501 5.5.4'],
    ['HELO', '501 5.5.4'],
    ['EHLO a b', '501 5.5.4'],
    [`EHLO ${'a'.repeat(255)}`, '250 ENHAN'],
    [`EHLO ${'a'.repeat(256)}`, '501 5.5.4'],
    [`EHLO ${'a'.repeat(5_000)}`, '500 5.5.2'],
    ['HELO [192.0.2.1]', '250 mx.bo'],
    ['EHLO a\0b', '500 5.5.2'],
    ['EHLO a\tb', '500 5.5.2'],
    ['EHLO a\rb', '500 5.5.2'],
    ['EHLO \x1b[31m', '500 5.5.2'],
    ['EHLO \xff', '500 5.5.2'],
    ['EHLO \xc2\x85', '500 5.5.2'],
    ['EHLO \xe2\x80\xa8', '500 5.5.2'],
    ['EHLO caf\xc3\xa9.test', '250 ENHAN'],
    ['__proto__', '500 5.5.2'],
    ['constructor x', '500 5.5.2'],
    ['toString', '500 5.5.2'],
  ] as const) {
    test(`${JSON.stringify(line.slice(0, 40))} of ${line.length} gets ${reply}`, () => {
      expect(last(`${line}\r\n`).slice(0, 9)).toBe(reply)
    })
  }

  for (const line of ['VRFY ann@box.test', 'vrfy nobody', 'VRFY <"a b"@c.test>']) {
    test(`${line} is neither confirmed nor denied`, () => {
      for (const before of ['', HELLO, HELLO + MAIL])
        expect(last(`${before}${line}\r\n`)).toMatch(/^252 2\.0\.0 /)
    })
  }

  for (const verb of [
    ...'EXPN HELP TURN ETRN ATRN BDAT AUTH XCLIENT XFORWARD SEND SOML SAML'.split(' '),
  ]) {
    test(`${verb} is not implemented, with or without an argument`, () => {
      expect(last(`${HELLO}${verb}\r\n`)).toBe('502 5.5.1 Command not implemented')
      expect(last(`${HELLO}${verb} ann@box.test\r\n`)).toBe('502 5.5.1 Command not implemented')
    })
  }

  for (const verb of 'WIZ SHELL KILL DEBUG SITE'.split(' ')) {
    test(`${verb} is unknown`, () => expect(last(`${verb} x\r\n`).slice(0, 3)).toBe('500'))
  }

  test('that ends with a bare LF is rejected, and the next one is read', () => {
    expect(transcript(oneChunk(Buffer.from('NOOP\nNOOP\r\n'))).codes).toStrictEqual([500, 250])
  })
})

describe('a long line', () => {
  for (const [length, codes] of [
    [512, [250]],
    [513, [250]],
    [1_000, [250]],
    [1_001, [500]],
    [2_049, [500]],
    [16_385, [500]],
    [10_000_000, [500]],
  ] as const) {
    test(`of ${length} bytes gets one ${codes[0]}, however it is split`, () => {
      const line = Buffer.from(`${'NOOP '.padEnd(length - 2, 'a')}\r\nNOOP\r\n`)
      const blocks = Array.from({ length: Math.floor(line.length / 700) }, (_, at) => at * 700)
      const cuts = length > 100_000 ? [blocks] : [blocks, [999], [1_000], [1_001], [length - 1]]
      for (const offsets of cuts) {
        const pieces = splitAt(
          line,
          offsets.filter((offset) => offset < line.length),
        )
        expect(transcript(pieces).codes).toStrictEqual([...codes, 250])
      }
    })
  }

  test('sent byte by byte gets one reply', () => {
    const bytes = Buffer.from(`${'a'.repeat(3_000)}\r\nNOOP\r\n`)
    expect(transcript(byteByByte(bytes)).codes).toStrictEqual([500, 250])
  })
})

describe('limits of a session', () => {
  function codes(line: string, count: number, opening = ''): number[] {
    return transcript(oneChunk(Buffer.from(opening + line.repeat(count)))).codes
  }

  for (const line of ['NOOP\r\n', 'RSET\r\n', HELLO]) {
    test(`421 after a thousand ${JSON.stringify(line)}`, () => {
      const session = transcript(oneChunk(Buffer.from(line.repeat(10_000))))
      expect(session.codes.length).toBe(1_001)
      expect(session.codes.at(-1)).toBe(421)
      expect(session.closed).toBe('too_many_commands')
    })
  }

  test('421 after twenty rejected commands', () => {
    const session = transcript(oneChunk(Buffer.from('WHAT\r\n'.repeat(10_000))))
    expect(session.codes).toStrictEqual([...Array(20).fill(500), 421])
    expect(session.closed).toBe('too_many_refused')
  })

  test('recipients after the hundredth get 452, and finally 421', () => {
    const to = Array.from({ length: 1_001 }, (_, n) => `RCPT TO:<u${n}@box.test>\r\n`).join('')
    const session = transcript(oneChunk(Buffer.from(HELLO + MAIL + to)))
    expect(session.codes.slice(2, 102)).toStrictEqual(Array(100).fill(250))
    expect(session.codes.slice(102, -1)).toStrictEqual(Array(898).fill(452))
    expect(session.codes.at(-1)).toBe(421)
    expect(session.recipientPaths.length).toBe(100)
  })

  test('mail with more than a hundred recipients goes to the first hundred', () => {
    const to = Array.from({ length: 130 }, (_, n) => `RCPT TO:<u${n}@box.test>\r\n`).join('')
    const session = transcript(oneChunk(Buffer.from(`${HELLO + MAIL + to}DATA\r\nhi\r\n.\r\n`)))
    expect(session.codes.slice(-2)).toStrictEqual([354, 250])
    expect(session.mails[0]?.recipients.length).toBe(100)
  })

  test('a repeated recipient is accepted and gets one copy', () => {
    expect(codes(RCPT, 3, HELLO + MAIL)).toStrictEqual([250, 250, 250, 250, 250])
    const session = transcript(oneChunk(Buffer.from(`${OPENING.replace(RCPT, RCPT + RCPT)}.\r\n`)))
    expect(session.mails[0]?.recipients).toStrictEqual(['ann@box.test'])
  })

  test('a thousand mails in one session are accepted', () => {
    const mail = `${MAIL + RCPT}DATA\r\nhi\r\n.\r\n`
    const session = transcript(oneChunk(Buffer.from(HELLO + mail.repeat(1_000))))
    expect(session.mails.length).toBe(1_000)
    expect(session.closed).toBeUndefined()
  })
})

describe('another protocol on the SMTP port is rejected', () => {
  for (const [name, bytes] of [
    ['HTTP', 'GET / HTTP/1.1\r\nHost: box.test\r\n\r\n'],
    ['HTTP with mail in it', `POST / HTTP/1.1\r\n\r\n${OPENING}evil\r\n.\r\n`],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['ssh', 'SSH-2.0-OpenSSH_9.2p1\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ] as const) {
    test(name, () => {
      for (const split of [oneChunk, byteByByte]) {
        const session = transcript(split(Buffer.from(bytes, 'latin1')))
        expect(session.closed).toBe('not_smtp')
        expect(session.codes.length).toBe(1)
        expect(session.mails.length).toBe(0)
      }
    })
  }
})
