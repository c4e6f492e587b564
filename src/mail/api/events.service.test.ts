import assert from 'node:assert/strict'
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

let app: App
beforeAll(async () => {
  app = await startApp({ ...WAIT_FOR_EXTRACTION, env: PROXY_ENV, intervals: WITHOUT_POLLING })
})
afterAll(() => app.stop())

/** A stream read block by block, as an EventSource does. */
const openStream = (token: string, more = '', headers: Record<string, string> = {}) =>
  openStreamAt(`${app.url}/api/events?token=${token}${more}`, headers)

async function openStreamAt(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  assert.equal(response.status, 200)
  assert.ok(response.body)
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let received = ''
  const next = async (): Promise<Record<string, string> | undefined> => {
    while (!received.includes('\n\n')) {
      const { done, value } = await reader.read()
      if (done) return undefined
      received += value
    }
    const [block = ''] = received.split('\n\n', 1)
    received = received.slice(block.length + 2)
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

async function assertEnds(
  stream: Awaited<ReturnType<typeof openStream>>,
  reason: string,
): Promise<void> {
  const event = await stream.next()
  assert.deepEqual([event?.['event'], JSON.parse(event?.['data'] ?? '')], ['end', { reason }])
  assert.equal(await stream.next(), undefined)
}

const newestIds = async (token: string) => (await checkMail(app.url, token)).map(({ id }) => id)

describe('200', () => {
  test('a stream opens at once with the id it starts after', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [id] = await newestIds(token)
    const stream = await openStream(token)
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    assert.equal(stream.headers.get('cache-control'), 'no-store')
    assert.equal(stream.headers.get('access-control-allow-origin'), '*')
    const opening = await stream.next()
    assert.equal(opening?.['id'], String(id))
    assert.match(opening?.['retry'] ?? '', /^\d+$/)
    await stream.end()
  })

  test('a new message is sent with its id and the summary of check-mail', async () => {
    const { email, token } = await app.session()
    const stream = await openStream(token)
    await stream.next()
    await app.mail(email)
    const event = await stream.next()
    const [summary] = await checkMail(app.url, token)
    assert.equal(event?.['event'], 'message')
    assert.equal(event?.['id'], String(summary?.id))
    assert.deepEqual(JSON.parse(event?.['data'] ?? ''), summary)
    await stream.end()
  })

  test('without Last-Event-ID and since_id a stream starts with new mail', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    // Once listed, it has been parsed, and no update event follows.
    await newestIds(token)
    const stream = await openStream(token)
    await stream.next()
    await app.mail(email)
    const [id] = await newestIds(token)
    assert.equal((await stream.next())?.['id'], String(id))
    await stream.end()
  })

  test('since_id and Last-Event-ID resume, oldest first; Last-Event-ID takes precedence', async () => {
    const { email, token } = await app.session()
    for (let sent = 0; sent < 3; sent += 1) await app.mail(email)
    const [third, second, first] = await newestIds(token)
    const idsAfter = async (more: string, headers: Record<string, string> = {}) => {
      const stream = await openStream(token, more, headers)
      await stream.next()
      const received: string[] = []
      while (received.length < 2) {
        // An update event with the code of the first may arrive at any time.
        const event = await stream.next()
        if (event?.['event'] !== 'updated') received.push(String(event?.['id']))
      }
      await stream.end()
      return received
    }
    const rest = [String(second), String(third)]
    assert.deepEqual(await idsAfter(`&since_id=${first}`), rest)
    assert.deepEqual(await idsAfter('', { 'last-event-id': String(first) }), rest)
    assert.deepEqual(await idsAfter('&since_id=0', { 'last-event-id': String(first) }), rest)
    assert.deepEqual(await idsAfter(`&since_id=${first}`, { 'last-event-id': 'nonsense' }), rest)
  })

  test('30 mails received concurrently are each sent once, in order', async () => {
    const { email, token } = await app.session()
    const stream = await openStream(token)
    await stream.next()
    await Promise.all(Array.from({ length: 30 }, () => app.mail(email)))
    const ids: number[] = []
    while (ids.length < 30) ids.push(Number((await stream.next())?.['id']))
    assert.deepEqual(ids, (await newestIds(token)).toReversed())
    await stream.end()
  })

  test('a deletion is sent with the message id', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [id] = await newestIds(token)
    const stream = await openStream(token)
    await stream.next()
    await post(`${app.url}/api/delete-mail`, { token, id: String(id) })
    const event = await stream.next()
    assert.deepEqual([event?.['event'], JSON.parse(event?.['data'] ?? '')], ['deleted', { id }])
    await stream.end()
  })

  test('a stream ends when the session is deleted', async () => {
    const { token } = await app.session()
    const stream = await openStream(token)
    await stream.next()
    await post(`${app.url}/api/delete-session`, { token })
    await assertEnds(stream, 'deleted')
  })

  test('a stream ends when the session expires', async () => {
    // The bus does not signal expiry: this app polls for it.
    const pollingApp = await startApp({ intervals: { ...WITHOUT_POLLING, pollMs: 50 } })
    const { token } = await pollingApp.session({ ttl: '60' })
    const stream = await openStreamAt(`${pollingApp.url}/api/events?token=${token}`)
    await stream.next()
    pollingApp.moveClock(60)
    await assertEnds(stream, 'expired')
    await pollingApp.stop()
  })

  test('the token is accepted as Bearer', async () => {
    const { token } = await app.session()
    const response = await fetch(`${app.url}/api/events`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(response.status, 200)
    await response.body?.cancel()
  })

  test('HEAD opens no stream', async () => {
    const { token } = await app.session()
    const response = await request(`${app.url}/api/events?token=${token}`, { method: 'HEAD' })
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
  })

  test('a disconnect releases the stream', async () => {
    const { token } = await app.session()
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(token)))
    const open = async () =>
      Number(/^mayfly_http_waiting (\d+)$/m.exec((await request(`${app.url}/metrics`)).text)?.[1])
    assert.ok((await open()) >= 5)
    for (const stream of streams) await stream.end()
    while ((await open()) > 0) await new Promise(setImmediate)
  })
})

describe('400', () => {
  test('a missing token or an invalid since_id is refused', async () => {
    const { token } = await app.session()
    for (const [query, code] of [
      ['', 'missing_parameter'],
      [`?token=${token}&since_id=x`, 'invalid_parameter'],
    ] as const) {
      const response = await request(`${app.url}/api/events${query}`)
      assert.deepEqual([response.status, response.body['code']], [400, code])
      assert.equal(problemFault(response), undefined)
    }
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await request(`${app.url}/api/events?token=x`)
    assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(response), undefined)
  })
})

describe('503', () => {
  test('a mailbox has at most 100 streams', async () => {
    const { token } = await app.session()
    const streams = await Promise.all(Array.from({ length: 100 }, () => openStream(token)))
    const response = await request(`${app.url}/api/events?token=${token}`)
    assert.deepEqual([response.status, response.body['code']], [503, 'overloaded'])
    assert.equal(problemFault(response), undefined)
    await Promise.all(streams.map(({ end }) => end()))
  })
})
