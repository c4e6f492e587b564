import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { parseAddress } from '../core/address.ts'
import { OPERATOR } from '../core/session.ts'
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

/** A body of so many bytes, every line of which starts with a dot. */
function dotted(bytes: number): string {
  return `${'.x\r\n'.repeat(bytes / 4)}`.padStart(bytes, 'y')
}

describe('a mail of the limit', () => {
  for (const [name, body, code] of [
    ['less one byte is kept', `${'x'.repeat(MAX - 3)}\r\n`, 250],
    ['is kept', `${'x'.repeat(MAX - 2)}\r\n`, 250],
    ['and a byte is not', `${'x'.repeat(MAX - 1)}\r\n`, 552],
    ['is kept, the stuffing does not count', dotted(MAX), 250],
    ['and a byte is not, stuffed or not', dotted(MAX + 1), 552],
    ['ten times over is not', 'x\r\n'.repeat(MAX * 3.4), 552],
  ] as const) {
    test(name, () => {
      const bytes = Buffer.from(`${OPENING}${stuffed(body)}NOOP\r\n`)
      const cuts = Array.from({ length: bytes.length / 50 }, (_, at) => at * 50)
      for (const pieces of [oneChunk(bytes), byteByByte(bytes), splitAt(bytes, cuts)]) {
        const heard = transcript(pieces, { maxBytes: MAX })
        assert.deepEqual(heard.codes, [250, 250, 250, 354, code, 250])
        assert.equal(heard.mails[0]?.raw.length, code === 250 ? body.length : undefined)
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
    test(`${parameter} is answered ${reply} at MAIL`, () => {
      const bytes = Buffer.from(`EHLO a.test\r\nMAIL FROM:<a@a.test> ${parameter}\r\n`)
      const { replies } = transcript(oneChunk(bytes), { maxBytes: MAX })
      assert.ok(replies.split('\r\n').at(-2)?.startsWith(reply))
    })
  }

  test('a lie about it does not raise the limit', () => {
    const opening = OPENING.replace('<a@a.test>', '<a@a.test> SIZE=10')
    const bytes = Buffer.from(opening + stuffed('x\r\n'.repeat(MAX)))
    const heard = transcript(oneChunk(bytes), { maxBytes: MAX })
    assert.deepEqual(heard.codes, [250, 250, 250, 354, 552])
    assert.equal(heard.mails.length, 0)
  })
})

describe('DATA without an end', () => {
  const chunk = Buffer.alloc(8_192, 'abc\n')

  test('is cut soon after the limit, and meanwhile takes no memory', () => {
    const session = smtpSession({ ...LIMITS, maxBytes: MAX }, '192.0.2.1')
    openMail(session)
    let fed = 0
    let step = session.receive(chunk)
    for (fed = chunk.length; !step.action; fed += chunk.length) {
      assert.ok(fed <= MAX + EXCESS_BYTES + 2 * chunk.length, 'it reads for ever')
      step = session.receive(chunk)
      assert.ok(session.bufferedBytes() === 0)
    }
    assert.ok(step.replies.startsWith('552 5.3.4'))
    assert.deepEqual(step.action, { kind: 'close', reason: 'too_big' })
  })

  test('that was let go for want of memory hears 452 at its end, and the session goes on', () => {
    const session = smtpSession(LIMITS, '192.0.2.1')
    openMail(session)
    session.receive(chunk)
    assert.ok(session.bufferedBytes() >= chunk.length)
    session.discardMail()
    assert.equal(session.bufferedBytes(), 0)
    session.receive(Buffer.from('\r\n.'))
    const step = session.receive(Buffer.from('\r\nNOOP\r\n'))
    assert.match(step.replies, /^452 4\.3\.1 .*\r\n250 /)
    assert.equal(step.action, undefined)
  })

  test('that was let go is not read for ever either', () => {
    const session = smtpSession({ ...LIMITS, maxBytes: MAX }, '192.0.2.1')
    openMail(session)
    session.receive(chunk.subarray(0, 100))
    session.discardMail()
    let fed = 0
    while (!session.receive(chunk).action) {
      fed += chunk.length
      session.discardMail()
      assert.ok(fed <= MAX + EXCESS_BYTES + 2 * chunk.length, 'it reads for ever')
    }
  })

  test('byte by byte costs no more than twice its memory', () => {
    const session = smtpSession(LIMITS, '192.0.2.1')
    openMail(session)
    for (let sent = 1; sent <= 100_000; sent += 1) {
      session.receive(chunk.subarray(0, 1))
      assert.ok(session.bufferedBytes() <= Math.max(16 * 1024, 2 * sent + 8))
    }
  })
})

function openMail(session: ReturnType<typeof smtpSession>): void {
  session.receive(Buffer.from('EHLO a.test\r\nMAIL FROM:<a@a.test>\r\n'))
  session.complete({ kind: 'sender', outcome: 'welcome' })
  const asked = session.receive(Buffer.from('RCPT TO:<ann@box.test>\r\n'))
  assert.equal(asked.action?.kind, 'recipient')
  assert.ok(ANN)
  session.complete({ kind: 'recipient', outcome: { address: ANN, mailbox: OPERATOR } })
  assert.match(session.receive(Buffer.from('DATA\r\n')).replies, /^354 /)
}
