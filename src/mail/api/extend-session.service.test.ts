import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import {
  ENCODINGS,
  post,
  problemFault,
  request,
  requestFrom,
} from '../../../test/support/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { parseHost } from '../../base/address.ts'
import { openMailStoreForCli } from '../../runtime/stores.ts'

const HOUR = 3_600
const DAY = 24 * HOUR

let app: App
let url: string
beforeAll(async () => {
  app = await startApp({
    env: { ...PROXY_ENV, MAYFLY_ANONYMOUS_MAX_TTL: '3d', MAYFLY_ADDRESS_COOLDOWN: '5d' },
  })
  url = `${app.url}/api/extend-session`
})
afterAll(() => app.stop())

const check = (token: string) => request(`${app.url}/api/check-mail?token=${token}`)
/** Seconds until expiry, rounded to a minute. */
const ttlOf = (body: Record<string, unknown>) =>
  Math.round((Date.parse(String(body['expires_at_iso'])) - app.now().getTime()) / 60_000) * 60

describe('200', () => {
  for (const encoding of ENCODINGS) {
    test(`the expiry moves to ttl seconds from now (${encoding})`, async () => {
      const { email, token } = await app.session()
      const { status, body, headers } = await post(url, { token, ttl: String(2 * DAY) }, encoding)
      assert.equal(status, 200)
      assert.deepEqual(Object.keys(body), [
        'status',
        'email',
        'token',
        'expires_at',
        'expires_at_iso',
      ])
      assert.deepEqual([body['email'], body['token']], [email, token])
      assert.equal(ttlOf(body), 2 * DAY)
      assert.equal(headers.get('cache-control'), 'no-store')
      assert.equal((await check(token)).body['expires_at'], body['expires_at'])
    })
  }

  test('without a ttl the default applies, from now', async () => {
    const { token } = await app.session({ ttl: '60' })
    assert.equal(ttlOf((await post(url, { token })).body), DAY)
  })

  test('a shorter ttl is accepted and deletes no mail', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    assert.equal(ttlOf((await post(url, { token, ttl: '60' })).body), 60)
    assert.equal(((await check(token)).body['messages'] as unknown[]).length, 1)
  })

  test('the expiry never exceeds the maximum ttl from creation', async () => {
    const { token } = await app.session()
    app.moveClock(DAY - HOUR)
    assert.equal(ttlOf((await post(url, { token, ttl: String(3 * DAY) })).body), 2 * DAY + HOUR)
  })

  test('an expired session is revived with its token, empty, and receives mail again', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    app.moveClock(2 * DAY)
    assert.equal(await app.mail(email), 550)
    const revived = await post(url, { token })
    assert.deepEqual([revived.status, revived.body['email']], [200, email])
    assert.equal(ttlOf(revived.body), DAY)
    assert.deepEqual((await check(token)).body['messages'], [])
    assert.equal(await app.mail(email), 250)
    assert.equal(((await check(token)).body['messages'] as unknown[]).length, 1)
  })

  test('the maximum ttl of a revived session counts from its revival', async () => {
    const { token } = await app.session()
    app.moveClock(4 * DAY)
    await post(url, { token })
    assert.equal(ttlOf((await post(url, { token, ttl: String(3 * DAY) })).body), 3 * DAY)
  })

  test('concurrent revivals revive the session once', async () => {
    const { email, token } = await app.session()
    app.moveClock(2 * DAY)
    const all = await Promise.all(Array.from({ length: 10 }, () => post(url, { token })))
    assert.deepEqual(
      all.map(({ status, body }) => [status, body['email']]),
      all.map(() => [200, email]),
    )
    assert.equal(await app.mail(email), 250)
    assert.equal(((await check(token)).body['messages'] as unknown[]).length, 1)
  })
})

describe('400', () => {
  test('a missing token is refused', async () => {
    const response = await post(url, { ttl: '60' })
    assert.deepEqual([response.status, response.body['code']], [400, 'missing_parameter'])
  })

  for (const ttl of ['0', '59', String(3 * DAY + 1), '-60', '1h', '60.5']) {
    test(`a ttl of ${ttl} is refused`, async () => {
      const { token } = await app.session()
      const response = await post(url, { token, ttl })
      assert.deepEqual([response.status, response.body['code']], [400, 'invalid_parameter'])
      assert.match(String(response.body['message']), /^ttl: /)
      assert.equal(problemFault(response), undefined)
    })
  }
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await post(url, { token: 'A'.repeat(43) })
    assert.deepEqual([response.status, response.body['code']], [401, 'invalid_token'])
    assert.equal(problemFault(response), undefined)
  })

  test('a deleted session is not revived', async () => {
    const { token } = await app.session()
    await post(`${app.url}/api/delete-session`, { token })
    assert.equal((await post(url, { token })).body['code'], 'invalid_token')
  })

  test('a session is not revived after the cool-down', async () => {
    const { token } = await app.session()
    app.moveClock(6 * DAY)
    const response = await post(url, { token })
    assert.equal(response.status, 401)
    assert.ok(['invalid_token', 'session_expired'].includes(String(response.body['code'])))
  })

  test('on an inactive domain expired sessions are not revived, but live ones can be extended', async () => {
    const expired = await app.session({ domain_id: '1', ttl: '60' })
    app.moveClock(60)
    const live = await app.session({ domain_id: '1' })
    const name = parseHost('box.test')
    assert.ok(name)
    const store = await openMailStoreForCli(app.config)
    await store.changeDomain(name, { active: false })
    assert.equal((await post(url, { token: expired.token })).body['code'], 'session_expired')
    assert.equal((await post(url, { token: live.token })).status, 200)
    await store.changeDomain(name, { active: true })
    await store.close()
  })
})

describe('429', () => {
  test('a token allows ten extensions a minute, from any number of clients', async () => {
    const { token } = await app.session()
    const extend = (sessionToken = token) =>
      requestFrom(app.httpPort, PROXY, {
        method: 'POST',
        path: `/api/extend-session?token=${sessionToken}`,
        headers: { 'x-forwarded-for': newClient() },
      })
    const started = app.now().getTime()
    let passed = 0
    let refused = await extend()
    for (; refused.status === 200 && passed < 100; refused = await extend()) passed += 1
    // One is available again after six seconds.
    const regained = Math.floor((app.now().getTime() - started) / 6_000)
    assert.ok(passed >= 10 && passed <= 10 + regained, `${passed} passed`)
    assert.deepEqual([refused.status, refused.body['code']], [429, 'rate_limited'])
    assert.equal(problemFault(refused), undefined)
    assert.ok(Number(refused.headers.get('retry-after')) >= 1)
    const other = await app.session()
    assert.equal((await extend(other.token)).status, 200)
    assert.equal((await post(url, { token })).status, 200, 'loopback is exempt')
    app.moveClock(60)
    assert.equal((await extend()).status, 200)
  })
})
