import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { Problem } from '../../base/problem.ts'
import type { MailEvent } from '../list/events.ts'
import type { MergedEvent } from '../list/merged-events.ts'
import { eventStream, formatEvent, retryMs } from './events-format.ts'

const message = {
  id: 7,
  senderName: 'A',
  senderEmail: 'a@sender.test',
  subject: 'two\nlines\r\n\r\nevent: forged',
  receivedAt: new Date('2026-03-01T12:00:00Z'),
  code: '123456',
  preview: 'Your code is 123456.',
  attachments: 0,
  links: 0,
}

describe('event format', () => {
  test('a message has its id, and line breaks in the subject are escaped', () => {
    const formatted = formatEvent({ kind: 'message', message, resumeAfter: 7 }, '7')
    const [event, id, data, ...rest] = formatted.split('\n')
    expect([event, id, rest]).toStrictEqual(['event: message', 'id: 7', ['', '']])
    expect(JSON.parse(data?.slice('data: '.length) ?? '').subject).toBe(message.subject)
  })

  test('an update has the same payload and no id, so the resume position stays', () => {
    const first = formatEvent({ kind: 'message', message, resumeAfter: 7 }, '7')
    const second = formatEvent({ kind: 'updated', message }, '7')
    expect(second).toBe(first.replace('event: message\nid: 7\n', 'event: updated\n'))
    expect(JSON.parse(second.split('data: ')[1] ?? '').code).toBe('123456')
  })

  for (const [event, text] of [
    [{ kind: 'deleted', id: 7 }, 'event: deleted\ndata: {"id":7}\n\n'],
    [{ kind: 'end', reason: 'expired' }, 'event: end\ndata: {"reason":"expired"}\n\n'],
    [{ kind: 'beat' }, ':\n\n'],
  ] as const) {
    test(`${event.kind} is serialized`, () => {
      expect(formatEvent(event, '7')).toBe(text)
    })
  }
})

describe('a stream', () => {
  test('requests no more events than its buffer holds', async () => {
    let requested = 0
    async function* endless(): AsyncGenerator<MergedEvent> {
      for (;;) {
        requested += 1
        yield { event: { kind: 'message', message, resumeAfter: 7 }, index: 0 }
      }
    }
    const stream = Readable.from(eventStream(endless(), { positions: [0], retryMs: 2_000 }), {
      objectMode: false,
      highWaterMark: 1_000,
    })
    stream.read(0)
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate)
    expect(requested > 0 && requested < 20, `${requested} events were asked for`).toBeTruthy()
    stream.destroy()
  })

  test('ends with a comment when the server shuts down, and rejects on any other error', async () => {
    async function* failing(error: Error, events: MailEvent[]): AsyncGenerator<MergedEvent> {
      for (const event of events) yield { event, index: 0 }
      throw error
    }
    const [start, over] = [{ positions: [5], retryMs: 2_000 }, new Problem('shutting_down', 'x')]
    const all = (error: Error, ...events: MailEvent[]) =>
      Array.fromAsync(eventStream(failing(error, events), start))
    const [opening, end] = ['retry: 2000\nid: 5\n\n', ': shutting_down\nretry: 2000\n\n']
    expect(await all(over, { kind: 'beat' })).toStrictEqual([opening, ':\n\n', end])
    await expect(all(new Error('disk'))).rejects.toThrow(/disk/)
  })
})

test('the retry delay is random, between one and four seconds', () => {
  const delays = [0, 1, 128, 255].map((byte) => retryMs(() => Uint8Array.of(byte)))
  expect(delays).toStrictEqual([1_000, 1_012, 2_506, 4_000])
})
