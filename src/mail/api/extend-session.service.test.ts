import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, startApp } from '../../../test/kit/app/app.ts'
import {
  ENCODINGS,
  post,
  problemFault,
  request,
  requestFrom,
} from '../../../test/kit/http/http-client.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
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
      expect(status).toBe(200)
      expect(Object.keys(body)).toStrictEqual([
        'status',
        'email',
        'token',
        'expires_at',
        'expires_at_iso',
      ])
      expect([body['email'], body['token']]).toStrictEqual([email, token])
      expect(ttlOf(body)).toBe(2 * DAY)
      expect(headers.get('cache-control')).toBe('no-store')
      expect((await check(token)).body['expires_at']).toBe(body['expires_at'])
    })
  }

  test('without a ttl the default applies, from now', async () => {
    const { token } = await app.session({ ttl: '60' })
    expect(ttlOf((await post(url, { token })).body)).toBe(DAY)
  })

  test('a shorter ttl is accepted and deletes no mail', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    expect(ttlOf((await post(url, { token, ttl: '60' })).body)).toBe(60)
    expect(((await check(token)).body['messages'] as unknown[]).length).toBe(1)
  })

  test('the expiry never exceeds the maximum ttl from creation', async () => {
    const { token } = await app.session()
    app.moveClock(DAY - HOUR)
    expect(ttlOf((await post(url, { token, ttl: String(3 * DAY) })).body)).toBe(2 * DAY + HOUR)
  })

  test('an expired session is revived with its token, empty, and receives mail again', async () => {
    const { email, token } = await app.session()
    await app.mail(email)
    app.moveClock(2 * DAY)
    expect(await app.mail(email)).toBe(550)
    const revived = await post(url, { token })
    expect([revived.status, revived.body['email']]).toStrictEqual([200, email])
    expect(ttlOf(revived.body)).toBe(DAY)
    expect((await check(token)).body['messages']).toStrictEqual([])
    expect(await app.mail(email)).toBe(250)
    expect(((await check(token)).body['messages'] as unknown[]).length).toBe(1)
  })

  test('the maximum ttl of a revived session counts from its revival', async () => {
    const { token } = await app.session()
    app.moveClock(4 * DAY)
    await post(url, { token })
    expect(ttlOf((await post(url, { token, ttl: String(3 * DAY) })).body)).toBe(3 * DAY)
  })

  test('concurrent revivals revive the session once', async () => {
    const { email, token } = await app.session()
    app.moveClock(2 * DAY)
    const all = await Promise.all(Array.from({ length: 10 }, () => post(url, { token })))
    expect(all.map(({ status, body }) => [status, body['email']])).toStrictEqual(
      all.map(() => [200, email]),
    )
    expect(await app.mail(email)).toBe(250)
    expect(((await check(token)).body['messages'] as unknown[]).length).toBe(1)
  })
})

describe('400', () => {
  test('a missing token is refused', async () => {
    const response = await post(url, { ttl: '60' })
    expect([response.status, response.body['code']]).toStrictEqual([400, 'missing_parameter'])
  })

  for (const ttl of ['0', '59', String(3 * DAY + 1), '-60', '1h', '60.5']) {
    test(`a ttl of ${ttl} is refused`, async () => {
      const { token } = await app.session()
      const response = await post(url, { token, ttl })
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message'])).toMatch(/^ttl: /)
      expect(problemFault(response)).toBeUndefined()
    })
  }
})

describe('401', () => {
  test('an unknown token is refused', async () => {
    const response = await post(url, { token: 'A'.repeat(43) })
    expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_token'])
    expect(problemFault(response)).toBeUndefined()
  })

  test('a deleted session is not revived', async () => {
    const { token } = await app.session()
    await post(`${app.url}/api/delete-session`, { token })
    expect((await post(url, { token })).body['code']).toBe('invalid_token')
  })

  test('a session is not revived after the cool-down', async () => {
    const { token } = await app.session()
    app.moveClock(6 * DAY)
    const response = await post(url, { token })
    expect(response.status).toBe(401)
    expect(['invalid_token', 'session_expired']).toContain(String(response.body['code']))
  })

  test('on an inactive domain expired sessions are not revived, but live ones can be extended', async () => {
    const expired = await app.session({ domain_id: '1', ttl: '60' })
    app.moveClock(60)
    const live = await app.session({ domain_id: '1' })
    const name = parseHost('box.test')
    expect.assert(name)
    const store = await openMailStoreForCli(app.config)
    await store.changeDomain(name, { active: false })
    expect((await post(url, { token: expired.token })).body['code']).toBe('session_expired')
    expect((await post(url, { token: live.token })).status).toBe(200)
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
    expect(passed >= 10 && passed <= 10 + regained, `${passed} passed`).toBeTruthy()
    expect([refused.status, refused.body['code']]).toStrictEqual([429, 'rate_limited'])
    expect(problemFault(refused)).toBeUndefined()
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    const other = await app.session()
    expect((await extend(other.token)).status).toBe(200)
    expect((await post(url, { token })).status, 'loopback is exempt').toBe(200)
    app.moveClock(60)
    expect((await extend()).status).toBe(200)
  })
})
