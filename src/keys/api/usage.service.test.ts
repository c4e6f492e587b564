import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { problemFault, request } from '../../../test/support/http-client.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/support/keys.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await sharedAppWithKeys()
})
afterAll(() => app.stop())

const usage = ({ headers }: Pick<TestKey, 'headers'>) => request(`${app.url}/usage`, { headers })
const spend = async (key: TestKey, times: number) => {
  for (let count = 0; count < times; count += 1) {
    assert.equal((await request(`${app.url}/emails`, { headers: key.headers })).status, 200)
  }
}
const today = () => app.now().toISOString().slice(0, 10)

describe('200', () => {
  test('a key without expiry and daily limit has null for both', async () => {
    const key = await app.ring.issue()
    await spend(key, 3)
    const { status, body, headers } = await usage(key)
    assert.equal(status, 200)
    const { resets_at: resets, resets_at_iso: iso, days, ...rest } = body
    assert.deepEqual(rest, {
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
    })
    assert.match(String(resets), / 00:00:00$/)
    assert.equal(iso, `${String(resets).replace(' ', 'T')}Z`)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-ratelimit-remaining'), '997')
    assert.equal((days as unknown[]).length, 30)
  })

  test('a key with expiry and daily limit has both', async () => {
    const key = await app.ring.issue({ id: 'business', requests: 10, perDay: 4, months: 12 })
    await spend(key, 1)
    const { body } = await usage(key)
    const {
      per_day: perDay,
      remaining_today: left,
      expires_at: expiresAt,
      expires_at_iso: iso,
    } = body
    assert.deepEqual([perDay, left, body['remaining']], [4, 3, 9])
    assert.match(String(expiresAt), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(iso, `${String(expiresAt).replace(' ', 'T')}Z`)
  })

  test('usage costs nothing and lists the last 30 days, oldest first', async () => {
    const key = await app.ring.issue()
    const days = async () => (await usage(key)).body['days'] as { date: string; requests: number }[]
    await spend(key, 2)
    const first = today()
    app.moveClock(86_400)
    await spend(key, 1)
    for (let count = 0; count < 5; count += 1) await usage(key)
    const list = await days()
    assert.deepEqual(list.slice(-2), [
      { date: first, requests: 2 },
      { date: today(), requests: 1 },
    ])
    assert.deepEqual(new Set(list.slice(0, -2).map(({ requests }) => requests)), new Set([0]))
    assert.deepEqual(
      list.map(({ date }) => date),
      list.map(({ date }) => date).toSorted(),
    )
    app.moveClock(28 * 86_400)
    assert.deepEqual((await days())[0], { date: first, requests: 2 })
    app.moveClock(86_400)
    assert.deepEqual((await days())[0]?.requests, 1)
  })

  test('HEAD costs nothing', async () => {
    const key = await app.ring.issue()
    const response = await request(`${app.url}/usage`, { method: 'HEAD', headers: key.headers })
    assert.equal(response.status, 200)
    assert.equal(await app.ring.used(key), 0)
  })

  test('keys that /emails refuses get their usage and the reason', async () => {
    const exhausted = await app.ring.issue({ requests: 1 })
    const dailyLimited = await app.ring.issue({ requests: 9, perDay: 1 })
    const expired = await app.ring.issue({ months: 1 })
    for (const key of [exhausted, dailyLimited]) await spend(key, 1)
    const states = async (...keys: TestKey[]) => {
      const responses = await Promise.all(keys.map(usage))
      return responses.map(({ status, body }) => [status, body['state']])
    }
    assert.deepEqual(
      await states(exhausted, dailyLimited, expired, await app.ring.issueRefunded()),
      [
        [200, 'quota_exhausted'],
        [200, 'daily_limit'],
        [200, 'active'],
        [200, 'stopped'],
      ],
    )
    app.moveClock(31 * 86_400)
    assert.deepEqual(await states(exhausted, dailyLimited, expired), [
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
      assert.deepEqual([response.status, response.body['code']], [401, 'invalid_key'])
      assert.equal(response.body['message'], 'The API key is invalid or missing.')
      assert.equal(problemFault(response), undefined)
    }
  })
})
