import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type App,
  startApp,
  WAIT_FOR_EXTRACTION,
  WITHOUT_POLLING,
} from '../../../test/kit/app/app.ts'
import { checkMail } from '../../../test/kit/http/api-client.ts'
import { post, problemFault, request } from '../../../test/kit/http/http-client.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { openStreamAt } from '../testing/event-stream.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ ...WAIT_FOR_EXTRACTION, env: PROXY_ENV, intervals: WITHOUT_POLLING })
})
afterAll(() => app.stop())

const openStream = (token: string, more = '', headers: Record<string, string> = {}) =>
  openStreamAt(`${app.url}/api/events?token=${token}${more}`, headers)

async function assertEnds(
  stream: Awaited<ReturnType<typeof openStream>>,
  reason: string,
): Promise<void> {
  const event = await stream.next()
  expect([event?.['event'], JSON.parse(event?.['data'] ?? '')]).toStrictEqual(['end', { reason }])
  expect(await stream.next()).toBeUndefined()
}

const newestIds = async (token: string) => (await checkMail(app.url, token)).map(({ id }) => id)

describe('200', () => {
  test('a stream opens at once with the id it starts after', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    const [id] = await newestIds(token)
    const stream = await openStream(token)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect(stream.headers.get('cache-control')).toBe('no-store')
    expect(stream.headers.get('access-control-allow-origin')).toBe('*')
    const opening = await stream.next()
    expect(opening?.['id']).toBe(String(id))
    expect(opening?.['retry'] ?? '').toMatch(/^\d+$/)
    await stream.end()
  })

  test('a new message is sent with its id and the summary of check-mail', async () => {
    const { email, token } = await app.session()
    const stream = await openStream(token)
    await stream.next()
    await app.mail(email)
    const event = await stream.next()
    const [summary] = await checkMail(app.url, token)
    expect(event?.['event']).toBe('message')
    expect(event?.['id']).toBe(String(summary?.id))
    expect(JSON.parse(event?.['data'] ?? '')).toStrictEqual(summary)
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
    expect((await stream.next())?.['id']).toBe(String(id))
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
    expect(await idsAfter(`&since_id=${first}`)).toStrictEqual(rest)
    expect(await idsAfter('', { 'last-event-id': String(first) })).toStrictEqual(rest)
    expect(await idsAfter('&since_id=0', { 'last-event-id': String(first) })).toStrictEqual(rest)
    expect(await idsAfter(`&since_id=${first}`, { 'last-event-id': 'nonsense' })).toStrictEqual(
      rest,
    )
  })

  test('30 mails received concurrently are each sent once, in order', async () => {
    const { email, token } = await app.session()
    const stream = await openStream(token)
    await stream.next()
    await Promise.all(Array.from({ length: 30 }, () => app.mail(email)))
    const ids: number[] = []
    while (ids.length < 30) ids.push(Number((await stream.next())?.['id']))
    expect(ids).toStrictEqual((await newestIds(token)).toReversed())
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
    expect([event?.['event'], JSON.parse(event?.['data'] ?? '')]).toStrictEqual(['deleted', { id }])
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
    expect(response.status).toBe(200)
    await response.body?.cancel()
  })

  test('HEAD opens no stream', async () => {
    const { token } = await app.session()
    const response = await request(`${app.url}/api/events?token=${token}`, { method: 'HEAD' })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
  })

  test('a disconnect releases the stream', async () => {
    const { token } = await app.session()
    const streams = await Promise.all(Array.from({ length: 5 }, () => openStream(token)))
    const open = async () =>
      Number(/^mayfly_http_waiting (\d+)$/m.exec((await request(`${app.url}/metrics`)).text)?.[1])
    expect(await open()).toBeGreaterThanOrEqual(5)
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
      expect([response.status, response.body['code']]).toStrictEqual([400, code])
      expect(problemFault(response)).toBeUndefined()
    }
  })
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await request(`${app.url}/api/events?token=x`)
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })
})

describe('503', () => {
  test('a mailbox has at most 100 streams', async () => {
    const { token } = await app.session()
    const streams = await Promise.all(Array.from({ length: 100 }, () => openStream(token)))
    const response = await request(`${app.url}/api/events?token=${token}`)
    expect([response.status, response.body['code']]).toStrictEqual([503, 'overloaded'])
    expect(problemFault(response)).toBeUndefined()
    await Promise.all(streams.map(({ end }) => end()))
  })
})
