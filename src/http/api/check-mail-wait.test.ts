import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { ALL_THE_TIME, type App, ONLY_WOKEN, startApp } from '../../../test/app.ts'
import { ask, post, refusalFault } from '../../../test/ask.ts'
import { untilWaiting } from '../../../test/waiting.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ ...ALL_THE_TIME, quiet: ONLY_WOKEN })
})
afterAll(() => app.stop())

const check = (token: string, more = '', headers: Record<string, string> = {}) =>
  ask(`${app.url}/api/check-mail?token=${token}${more}`, { headers })
const ids = (body: Record<string, unknown>) =>
  (body['messages'] as { id: number }[]).map(({ id }) => id)

/** A session with one message. */
async function filled() {
  const session = await app.session()
  await app.mail(session.email)
  return { ...session, ids: ids((await check(session.token)).body) }
}

describe('200', () => {
  test('at once when there is mail already', async () => {
    const { token, ids: all } = await filled()
    const { body } = await check(token, '&wait=55')
    assert.deepEqual(ids(body), all)
    assert.equal('timed_out' in body, false)
  })

  test('as soon as one newer than since_id comes', async () => {
    const { email, token, ids: all } = await filled()
    const waiting = check(token, `&wait=55&since_id=${all[0]}`)
    await untilWaiting(1, app)
    await app.mail(email)
    const { body } = await waiting
    assert.equal(ids(body).length, 1)
    assert.notDeepEqual(ids(body), all)
  })

  test('many who wait are all told', async () => {
    const { email, token } = await app.session()
    const waiting = Array.from({ length: 20 }, () => check(token, '&wait=55'))
    await untilWaiting(20, app)
    await app.mail(email)
    for (const { body } of await Promise.all(waiting)) assert.equal(ids(body).length, 1)
  })

  test('with an empty list and timed_out when none comes', async () => {
    const { token } = await app.session()
    const { status, body, headers } = await check(token, '&wait=1')
    assert.equal(status, 200)
    assert.deepEqual(body['messages'], [])
    assert.equal(body['timed_out'], true)
    assert.equal(headers.get('etag'), null, 'it does not tell what the mailbox holds')
  })

  test('with If-None-Match: when the mailbox is no longer as it was, also by a deletion', async () => {
    const { token, ids: all } = await filled()
    const etag = (await check(token)).headers.get('etag') ?? ''
    const waiting = check(token, '&wait=55', { 'if-none-match': etag })
    await untilWaiting(1, app)
    await post(`${app.url}/api/delete-mail`, { token, id: String(all[0]) })
    const { status, body } = await waiting
    assert.equal(status, 200)
    assert.deepEqual(body['messages'], [])
    assert.equal('timed_out' in body, false)
  })

  test('with If-None-Match: when the session lives longer than it did', async () => {
    const { token } = await app.session({ ttl: '60' })
    const before = await check(token)
    const waiting = check(token, '&wait=55', { 'if-none-match': before.headers.get('etag') ?? '' })
    await untilWaiting(1, app)
    await post(`${app.url}/api/extend-session`, { token, ttl: '600' })
    const { status, body } = await waiting
    assert.equal(status, 200)
    assert.notEqual(body['expires_at'], before.body['expires_at'])
  })

  test('a client that hangs up leaves nothing behind', async () => {
    const { token, email } = await app.session()
    const socket = connect(app.httpPort, '127.0.0.1')
    socket.write(`GET /api/check-mail?wait=55&token=${token} HTTP/1.1\r\nHost: x\r\n\r\n`)
    await untilWaiting(1, app)
    socket.destroy()
    await untilWaiting(0, app)
    assert.equal(await app.mail(email), 250)
  })
})

describe('304', () => {
  test('at the end of a wait during which nothing changed', async () => {
    const { token } = await filled()
    const etag = (await check(token)).headers.get('etag') ?? ''
    assert.equal((await check(token, '&wait=1', { 'if-none-match': etag })).status, 304)
  })
})

describe('401', () => {
  test('a session that ends while somebody waits', async () => {
    const { token } = await app.session()
    const waiting = check(token, '&wait=55')
    await untilWaiting(1, app)
    await post(`${app.url}/api/delete-session`, { token })
    const asked = await waiting
    assert.deepEqual([asked.status, asked.body['code']], [401, 'invalid_token'])
  })

  test('a session that expires while somebody waits', async () => {
    // Of the passing of time no bus tells: here it takes a look.
    const watchful = await startApp({ quiet: { ...ONLY_WOKEN, lookMs: 50 } })
    const { token } = await watchful.session({ ttl: '60' })
    const waiting = ask(`${watchful.url}/api/check-mail?token=${token}&wait=55`)
    await untilWaiting(1, watchful)
    watchful.moveClock(60)
    const asked = await waiting
    await watchful.stop()
    assert.deepEqual([asked.status, asked.body['code']], [401, 'session_expired'])
  })
})

describe('503', () => {
  test('more than a hundred waits on one mailbox', async () => {
    const { email, token } = await app.session()
    const waiting = Array.from({ length: 101 }, () => check(token, '&wait=55'))
    const first = await Promise.race(waiting)
    assert.deepEqual([first.status, first.body['code']], [503, 'overloaded'])
    assert.equal(refusalFault(first), undefined)
    await app.mail(email)
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 200).length, 100)
  })
})
