import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { checkMail } from '../../../test/api.ts'
import { ALL_THE_TIME, type App, ONLY_WOKEN, startApp } from '../../../test/app.ts'
import { ask, post, refusalFault } from '../../../test/ask.ts'
import { PROXY_ENV, sharedAnswers } from '../server/route.contract.ts'
import { eventsRoute } from './events.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ ...ALL_THE_TIME, env: PROXY_ENV, quiet: ONLY_WOKEN })
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
    const watchful = await startApp({ quiet: { ...ONLY_WOKEN, lookMs: 50 } })
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
    const asked = await ask(`${app.url}/api/events?token=${token}`, { method: 'HEAD' })
    assert.equal(asked.headers.get('content-type'), 'text/event-stream')
  })

  test('readers that leave are forgotten', async () => {
    const { token } = await app.session()
    const streams = await Promise.all(Array.from({ length: 5 }, () => follow(token)))
    const open = async () =>
      Number(/^mayfly_http_waiting (\d+)$/m.exec((await ask(`${app.url}/metrics`)).text)?.[1])
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
      const asked = await ask(`${app.url}/api/events${query}`)
      assert.deepEqual([asked.status, asked.body['code']], [400, code])
      assert.equal(refusalFault(asked), undefined)
    }
  })
})

describe('401', () => {
  test('a token that opens nothing', async () => {
    const asked = await ask(`${app.url}/api/events?token=x`)
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
    assert.equal(refusalFault(asked), undefined)
  })
})

describe('503', () => {
  test('more than a hundred readers of one mailbox', async () => {
    const { token } = await app.session()
    const readers = await Promise.all(Array.from({ length: 100 }, () => follow(token)))
    const asked = await ask(`${app.url}/api/events?token=${token}`)
    assert.deepEqual([asked.status, asked.body['code']], [503, 'overloaded'])
    assert.equal(refusalFault(asked), undefined)
    await Promise.all(readers.map(({ end }) => end()))
  })
})

sharedAnswers(eventsRoute, () => app)
