import { describe, expect, test } from 'vitest'
import { parseAddress } from '../base/address.ts'
import { OPERATOR } from '../mail/rules/session.ts'
import { EXCESS_BYTES } from './data.ts'
import { smtpSession } from './protocol.ts'
import {
  byteByByte,
  LIMITS,
  OPENING,
  oneChunk,
  splitAt,
  stuffed,
  transcript,
} from './testing/transcript.ts'

const MAX = 2_000
const ANN = parseAddress('ann@box.test')

/** A body of this size in which every line starts with a dot. */
function dotted(bytes: number): string {
  return `${'.x\r\n'.repeat(bytes / 4)}`.padStart(bytes, 'y')
}

describe('mail of the maximum size', () => {
  for (const [name, body, code] of [
    ['less one byte is accepted', `${'x'.repeat(MAX - 3)}\r\n`, 250],
    ['is accepted', `${'x'.repeat(MAX - 2)}\r\n`, 250],
    ['plus one byte is rejected', `${'x'.repeat(MAX - 1)}\r\n`, 552],
    ['is accepted; dot-stuffing does not count', dotted(MAX), 250],
    ['plus one byte is rejected, dot-stuffed', dotted(MAX + 1), 552],
    ['times ten is rejected', 'x\r\n'.repeat(MAX * 3.4), 552],
  ] as const) {
    test(name, () => {
      const bytes = Buffer.from(`${OPENING}${stuffed(body)}NOOP\r\n`)
      const cuts = Array.from({ length: bytes.length / 50 }, (_, at) => at * 50)
      for (const pieces of [oneChunk(bytes), byteByByte(bytes), splitAt(bytes, cuts)]) {
        const session = transcript(pieces, { maxBytes: MAX })
        expect(session.codes).toStrictEqual([250, 250, 250, 354, code, 250])
        expect(session.mails[0]?.raw.length).toBe(code === 250 ? body.length : undefined)
      }
    })
  }
})

describe('SIZE', () => {
  for (const [parameter, reply] of [
    [`SIZE=${MAX}`, '250 2.1.0'],
    [`SIZE=${MAX + 1}`, '552 5.3.4'],
    ['SIZE=99999999999', '552 5.3.4'],
    ['SIZE=99999999999999999999', '552 5.3.4'],
  ] as const) {
    test(`${parameter} gets ${reply} at MAIL`, () => {
      const bytes = Buffer.from(`EHLO a.test\r\nMAIL FROM:<a@a.test> ${parameter}\r\n`)
      const { replies } = transcript(oneChunk(bytes), { maxBytes: MAX })
      expect(replies.split('\r\n').at(-2)?.startsWith(reply)).toBeTruthy()
    })
  }

  test('a false declaration does not raise the limit', () => {
    const opening = OPENING.replace('<a@a.test>', '<a@a.test> SIZE=10')
    const bytes = Buffer.from(opening + stuffed('x\r\n'.repeat(MAX)))
    const session = transcript(oneChunk(bytes), { maxBytes: MAX })
    expect(session.codes).toStrictEqual([250, 250, 250, 354, 552])
    expect(session.mails.length).toBe(0)
  })
})

describe('endless DATA', () => {
  const chunk = Buffer.alloc(8_192, 'abc\n')

  test('is aborted soon after the limit and takes no memory past it', () => {
    const session = smtpSession({ ...LIMITS, maxBytes: MAX }, '192.0.2.1')
    openMail(session)
    let fed = 0
    let step = session.receive(chunk)
    for (fed = chunk.length; !step.action; fed += chunk.length) {
      expect(fed, 'reads without bound').toBeLessThanOrEqual(MAX + EXCESS_BYTES + 2 * chunk.length)
      step = session.receive(chunk)
      expect(session.bufferedBytes()).toBe(0)
    }
    expect(step.replies.startsWith('552 5.3.4')).toBeTruthy()
    expect(step.action).toStrictEqual({ kind: 'close', reason: 'too_big' })
  })

  test('discarded for lack of memory gets 452 at its end, and the session continues', () => {
    const session = smtpSession(LIMITS, '192.0.2.1')
    openMail(session)
    session.receive(chunk)
    expect(session.bufferedBytes()).toBeGreaterThanOrEqual(chunk.length)
    session.discardMail()
    expect(session.bufferedBytes()).toBe(0)
    session.receive(Buffer.from('\r\n.'))
    const step = session.receive(Buffer.from('\r\nNOOP\r\n'))
    expect(step.replies).toMatch(/^452 4\.3\.1 .*\r\n250 /)
    expect(step.action).toBeUndefined()
  })

  test('that was discarded is aborted, too', () => {
    const session = smtpSession({ ...LIMITS, maxBytes: MAX }, '192.0.2.1')
    openMail(session)
    session.receive(chunk.subarray(0, 100))
    session.discardMail()
    let fed = 0
    while (!session.receive(chunk).action) {
      fed += chunk.length
      session.discardMail()
      expect(fed, 'reads without bound').toBeLessThanOrEqual(MAX + EXCESS_BYTES + 2 * chunk.length)
    }
  })

  test('byte by byte takes at most twice its size in memory', () => {
    const session = smtpSession(LIMITS, '192.0.2.1')
    openMail(session)
    for (let sent = 1; sent <= 100_000; sent += 1) {
      session.receive(chunk.subarray(0, 1))
      expect(session.bufferedBytes()).toBeLessThanOrEqual(Math.max(16 * 1024, 2 * sent + 8))
    }
  })
})

function openMail(session: ReturnType<typeof smtpSession>): void {
  session.receive(Buffer.from('EHLO a.test\r\nMAIL FROM:<a@a.test>\r\n'))
  session.complete({ kind: 'mail-from', outcome: 'accepted' })
  const step = session.receive(Buffer.from('RCPT TO:<ann@box.test>\r\n'))
  expect(step.action?.kind).toBe('rcpt-to')
  expect.assert(ANN)
  session.complete({ kind: 'rcpt-to', outcome: { address: ANN, mailbox: OPERATOR } })
  expect(session.receive(Buffer.from('DATA\r\n')).replies).toMatch(/^354 /)
}
