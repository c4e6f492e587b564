import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await sharedAppWithKeys()
})
afterAll(() => app.stop())

const usage = ({ headers }: Pick<TestKey, 'headers'>) => request(`${app.url}/usage`, { headers })
const charge = async (key: TestKey, times: number) => {
  for (let count = 0; count < times; count += 1) {
    expect((await request(`${app.url}/emails`, { headers: key.headers })).status).toBe(200)
  }
}
const today = () => app.now().toISOString().slice(0, 10)

describe('200', () => {
  test('a key without expiry and daily limit has null for both', async () => {
    const key = await app.ring.issue()
    await charge(key, 3)
    const { status, body, headers } = await usage(key)
    expect(status).toBe(200)
    const { resets_at: resets, resets_at_iso: iso, days, ...rest } = body
    expect(rest).toStrictEqual({
      status: 'success',
      plan: 'starter',
      label: 'a test',
      prefix: key.secret.slice(0, 12),
      state: 'active',
      requests: 1_000,
      used: 3,
      remaining: 997,
      per_day: null,
      used_today: 3,
      remaining_today: null,
      expires_at: null,
      expires_at_iso: null,
      domains: { limit: 0, used: 0 },
      warnings: [],
    })
    expect(String(resets)).toMatch(/ 00:00:00$/)
    expect(iso).toBe(`${String(resets).replace(' ', 'T')}Z`)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-ratelimit-remaining')).toBe('997')
    expect((days as unknown[]).length).toBe(30)
  })

  test('a key with expiry and daily limit has both', async () => {
    const key = await app.ring.issue({ id: 'business', requests: 10, perDay: 4, months: 12 })
    await charge(key, 1)
    const { body } = await usage(key)
    const {
      per_day: perDay,
      remaining_today: left,
      expires_at: expiresAt,
      expires_at_iso: iso,
    } = body
    expect([perDay, left, body['remaining']]).toStrictEqual([4, 3, 9])
    expect(String(expiresAt)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(iso).toBe(`${String(expiresAt).replace(' ', 'T')}Z`)
  })

  test('usage costs nothing and lists the last 30 days, oldest first', async () => {
    const key = await app.ring.issue()
    const days = async () => (await usage(key)).body['days'] as { date: string; requests: number }[]
    await charge(key, 2)
    const first = today()
    app.moveClock(86_400)
    await charge(key, 1)
    for (let count = 0; count < 5; count += 1) await usage(key)
    const list = await days()
    expect(list.slice(-2)).toStrictEqual([
      { date: first, requests: 2 },
      { date: today(), requests: 1 },
    ])
    expect(new Set(list.slice(0, -2).map(({ requests }) => requests))).toStrictEqual(new Set([0]))
    expect(list.map(({ date }) => date)).toStrictEqual(list.map(({ date }) => date).toSorted())
    app.moveClock(28 * 86_400)
    expect((await days())[0]).toStrictEqual({ date: first, requests: 2 })
    app.moveClock(86_400)
    expect((await days())[0]?.requests).toStrictEqual(1)
  })

  test('HEAD costs nothing', async () => {
    const key = await app.ring.issue()
    const response = await request(`${app.url}/usage`, { method: 'HEAD', headers: key.headers })
    expect(response.status).toBe(200)
    expect(await app.ring.used(key)).toBe(0)
  })

  test('keys that /emails refuses get their usage and the reason', async () => {
    const exhausted = await app.ring.issue({ requests: 1 })
    const dailyLimited = await app.ring.issue({ requests: 9, perDay: 1 })
    const expired = await app.ring.issue({ months: 1 })
    for (const key of [exhausted, dailyLimited]) await charge(key, 1)
    const states = async (...keys: TestKey[]) => {
      const responses = await Promise.all(keys.map(usage))
      return responses.map(({ status, body }) => [status, body['state']])
    }
    expect(
      await states(exhausted, dailyLimited, expired, await app.ring.issueRefunded()),
    ).toStrictEqual([
      [200, 'quota_exhausted'],
      [200, 'daily_limit'],
      [200, 'active'],
      [200, 'stopped'],
    ])
    app.moveClock(31 * 86_400)
    expect(await states(exhausted, dailyLimited, expired)).toStrictEqual([
      [200, 'quota_exhausted'],
      [200, 'active'],
      [200, 'plan_expired'],
    ])
  })
})

describe('401', () => {
  test('a missing, wrong or revoked key is refused, and so is a key in the query', async () => {
    const key = await app.ring.issue()
    await app.ring.shop.revokeKey(key.id)
    for (const response of [
      await usage({ headers: {} }),
      await usage({ headers: { apikey: 'wrong' } }),
      await request(`${app.url}/usage?apikey=${(await app.ring.issue()).secret}`),
      await usage(key),
    ]) {
      expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_key'])
      expect(response.body['message']).toBe('The API key is invalid or missing.')
      expect(problemFault(response)).toBeUndefined()
    }
  })
})
