import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { checkMail } from '../../../test/support/api-client.ts'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/support/app.ts'
import { post, problemFault, request } from '../../../test/support/http-client.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { Problem } from '../../core/problem.ts'
import type { MailEvent } from '../../service/mail/events.ts'
import { eventStream, formatEvent, retryMs } from './events.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ ...WAIT_FOR_EXTRACTION, env: PROXY_ENV, intervals: WITHOUT_POLLING })
})
afterAll(() => app.stop())

/** A stream read block by block, as an EventSource does. */
const follow = (token: string, more = '', headers: Record<string, string> = {}) =>
  followAt(`${app.url}/api/events?token=${token}${more}`, headers)

async function followAt(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  assert.equal(response.status, 200)
  assert.ok(response.body)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const next = async (): Promise<Record<string, string> | undefined> => {
    while (!heard.includes('\n\n')) {
      const { done, value } = await reader.read()
      if (done) return undefined
      heard += value
    }
    const [block = ''] = heard.split('\n\n', 1)
    heard = heard.slice(block.length + 2)
    return Object.fromEntries(
      block
        .split('\n')
        .map((line) => [
          line.slice(0, line.indexOf(':')),
          line.slice(line.indexOf(':') + 1).trim(),
        ]),
    )
  }
  return { headers: response.headers, next, end: () => reader.cancel() }
}

async function endsWith(stream: Awaited<ReturnType<typeof follow>>, reason: string): Promise<void> {
  const event = await stream.next()
  assert.deepEqual([event?.['event'], JSON.parse(event?.['data'] ?? '')], ['end', { reason }])
  assert.equal(await stream.next(), undefined)
}

const newest = async (token: string) => (await checkMail(app.url, token)).map(({ id }) => id)

describe('200', () => {
  test('opens at once and tells where it starts', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [id] = await newest(token)
    const stream = await follow(token)
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    assert.equal(stream.headers.get('cache-control'), 'no-store')
    assert.equal(stream.headers.get('access-control-allow-origin'), '*')
    const opening = await stream.next()
    assert.equal(opening?.['id'], String(id))
    assert.match(opening?.['retry'] ?? '', /^\d+$/)
    await stream.end()
  })

  test('a message as it comes, with its id to resume by and the summary of check-mail', async () => {
    const { email, token } = await app.session()
    const stream = await follow(token)
    await stream.next()
    await app.mail(email)
    const event = await stream.next()
    const [summary] = await checkMail(app.url, token)
    assert.equal(event?.['event'], 'message')
    assert.equal(event?.['id'], String(summary?.id))
    assert.deepEqual(JSON.parse(event?.['data'] ?? ''), summary)
    await stream.end()
  })

  test('with neither Last-Event-ID nor since_id it starts now', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    // Once listed it has been looked at, and no update of it comes.
    await newest(token)
    const stream = await follow(token)
    await stream.next()
    await app.mail(email)
    const [id] = await newest(token)
    assert.equal((await stream.next())?.['id'], String(id))
    await stream.end()
  })

  test('since_id and Last-Event-ID resume, oldest first; what the browser says wins', async () => {
    const { email, token } = await app.session()
    for (let sent = 0; sent < 3; sent += 1) await app.mail(email)
    const [third, second, first] = await newest(token)
    const heardBy = async (more: string, headers: Record<string, string> = {}) => {
      const stream = await follow(token, more, headers)
      await stream.next()
      const heard: string[] = []
      while (heard.length < 2) {
        // The code of the first may be told again, whenever it is found.
        const event = await stream.next()
        if (event?.['event'] !== 'updated') heard.push(String(event?.['id']))
      }
      await stream.end()
      return heard
    }
    const rest = [String(second), String(third)]
    assert.deepEqual(await heardBy(`&since_id=${first}`), rest)
    assert.deepEqual(await heardBy('', { 'last-event-id': String(first) }), rest)
    assert.deepEqual(await heardBy('&since_id=0', { 'last-event-id': String(first) }), rest)
    assert.deepEqual(await heardBy(`&since_id=${first}`, { 'last-event-id': 'nonsense' }), rest)
  })

  test('mails of many senders at once: each is told once, in order', async () => {
    const { email, token } = await app.session()
    const stream = await follow(token)
    await stream.next()
    await Promise.all(Array.from({ length: 30 }, () => app.mail(email)))
    const told: number[] = []
    while (told.length < 30) told.push(Number((await stream.next())?.['id']))
    assert.deepEqual(told, (await newest(token)).toReversed())
    await stream.end()
  })

  test('a deletion, by its id', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [id] = await newest(token)
    const stream = await follow(token)
    await stream.next()
    await post(`${app.url}/api/delete-mail`, { token, id: String(id) })
    const event = await stream.next()
    assert.deepEqual([event?.['event'], JSON.parse(event?.['data'] ?? '')], ['deleted', { id }])
    await stream.end()
  })

  test('the end, when the owner ends the session', async () => {
    const { token } = await app.session()
    const stream = await follow(token)
    await stream.next()
    await post(`${app.url}/api/delete-session`, { token })
    await endsWith(stream, 'deleted')
  })

  test('the end, when the session expires', async () => {
    // Of the passing of time no bus tells: here it takes a look.
    const watchful = await startApp({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    const { token } = await watchful.session({ ttl: '60' })
    const stream = await followAt(`${watchful.url}/api/events?token=${token}`)
    await stream.next()
    watchful.moveClock(60)
    await endsWith(stream, 'expired')
    await watchful.stop()
  })

  test('the token may come as Bearer, as programs do', async () => {
    const { token } = await app.session()
    const response = await fetch(`${app.url}/api/events`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(response.status, 200)
    await response.body?.cancel()
  })

  test('HEAD opens no stream', async () => {
    const { token } = await app.session()
    const asked = await request(`${app.url}/api/events?token=${token}`, { method: 'HEAD' })
    assert.equal(asked.headers.get('content-type'), 'text/event-stream')
  })

  test('readers that leave are forgotten', async () => {
    const { token } = await app.session()
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow(token)))
    const open = async () =>
      Number(/^mayfly_http_waiting (\d+)$/m.exec((await request(`${app.url}/metrics`)).text)?.[1])
    assert.ok((await open()) >= 5)
    for (const stream of streams) await stream.end()
    while ((await open()) > 0) await new Promise(setImmediate)
  })
})

describe('400', () => {
  test('no token, or a since_id that is no number', async () => {
    const { token } = await app.session()
    for (const [query, code] of [
      ['', 'missing_parameter'],
      [`?token=${token}&since_id=x`, 'invalid_parameter'],
    ] as const) {
      const asked = await request(`${app.url}/api/events${query}`)
      assert.deepEqual([asked.status, asked.body['code']], [400, code])
      assert.equal(problemFault(asked), undefined)
    }
  })
})

describe('401', () => {
  test('a token that opens nothing', async () => {
    const asked = await request(`${app.url}/api/events?token=x`)
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(asked), undefined)
  })
})

describe('503', () => {
  test('more than a hundred readers of one mailbox', async () => {
    const { token } = await app.session()
    const readers = await Promise.all(Array.from({ length: 100 }, () => follow(token)))
    const asked = await request(`${app.url}/api/events?token=${token}`)
    assert.deepEqual([asked.status, asked.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(asked), undefined)
    await Promise.all(readers.map(({ end }) => end()))
  })
})

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
    const [event, id, data, ...rest] = formatEvent({ kind: 'message', message }).split('\n')
    assert.deepEqual([event, id, rest], ['event: message', 'id: 7', ['', '']])
    assert.equal(JSON.parse(data?.slice('data: '.length) ?? '').subject, message.subject)
  })

  test('an update has the same payload, and moves no reader to another place', () => {
    const [first, second] = [
      formatEvent({ kind: 'message', message }),
      formatEvent({ kind: 'updated', message }),
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
      assert.equal(formatEvent(event), text)
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
