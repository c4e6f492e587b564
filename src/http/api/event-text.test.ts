import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, test } from 'vitest'
import { Problem } from '../../core/problem.ts'
import type { MailEvent } from '../../service/mail/events.ts'
import { eventStream, eventText, retryMs } from './events.ts'

const message = {
  id: 7,
  senderName: 'A',
  senderEmail: 'a@sender.test',
  subject: 'two\nlines\r\n\r\nevent: forged',
  receivedAt: new Date('2026-03-01T12:00:00Z'),
  code: '123456',
}

describe('one event', () => {
  test('a message has its id, and no subject can end its line', () => {
    const [event, id, data, ...rest] = eventText({ kind: 'message', message }).split('\n')
    assert.deepEqual([event, id, rest], ['event: message', 'id: 7', ['', '']])
    assert.equal(JSON.parse(data?.slice('data: '.length) ?? '').subject, message.subject)
  })

  test('an update has the same payload, and moves no reader to another place', () => {
    const [first, second] = [
      eventText({ kind: 'message', message }),
      eventText({ kind: 'updated', message }),
    ]
    assert.equal(second, first.replace('event: message\nid: 7\n', 'event: updated\n'))
    assert.equal(JSON.parse(second.split('data: ')[1] ?? '').code, '123456')
  })

  for (const [event, text] of [
    [{ kind: 'deleted', id: 7 }, 'event: deleted\ndata: {"id":7}\n\n'],
    [{ kind: 'end', reason: 'expired' }, 'event: end\ndata: {"reason":"expired"}\n\n'],
    [{ kind: 'beat' }, ':\n\n'],
  ] as const) {
    test(event.kind, () => {
      assert.equal(eventText(event), text)
    })
  }
})

describe('a stream', () => {
  test('asks for no more events than its reader has room for', async () => {
    let asked = 0
    async function* endless(): AsyncGenerator<MailEvent> {
      for (;;) {
        asked += 1
        yield { kind: 'message', message }
      }
    }
    const stream = Readable.from(eventStream(endless(), { startsAfter: 0, retryMs: 2_000 }), {
      objectMode: false,
      highWaterMark: 1_000,
    })
    stream.read(0)
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate)
    assert.ok(asked > 0 && asked < 20, `${asked} events were asked for`)
    stream.destroy()
  })

  test('says so when we stop, and lets every other fault rise', async () => {
    async function* failing(fault: Error): AsyncGenerator<MailEvent> {
      yield { kind: 'beat' }
      throw fault
    }
    const opening = { startsAfter: 5, retryMs: 2_000 }
    const all = (fault: Error) => Array.fromAsync(eventStream(failing(fault), opening))
    const heard = await all(new Problem('shutting_down', 'x'))
    assert.equal(heard.join(''), 'retry: 2000\nid: 5\n\n:\n\n: shutting_down\nretry: 2000\n\n')
    await assert.rejects(all(new Error('disk')), /disk/)
  })
})

test('readers come back after a second at least, and not all at once', () => {
  const waits = [0, 1, 128, 255].map((chance) => retryMs(() => Uint8Array.of(chance)))
  assert.deepEqual(waits, [1_000, 1_012, 2_506, 4_000])
})
