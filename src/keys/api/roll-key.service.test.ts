import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { problemFault, request, requestFrom } from '../../../test/kit/http/http-client.ts'
import { expectRate } from '../../../test/kit/http/rate.ts'
import { newClient, PROXY } from '../../../test/kit/http/trusted-proxy.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/kit/shop/keys.ts'

let app: AppWithKeys
beforeAll(async () => {
  app = await sharedAppWithKeys()
})
afterAll(() => app.stop())

const DAY_SECONDS = 86_400
const withKey = (secret: unknown): Pick<TestKey, 'headers'> => ({
  headers: { apikey: String(secret) },
})
const roll = ({ headers }: Pick<TestKey, 'headers'>) =>
  request(`${app.url}/api/roll-key`, { method: 'POST', headers })
const read = ({ headers }: Pick<TestKey, 'headers'>) => request(`${app.url}/emails`, { headers })

describe('200', () => {
  test('both keys work for 24 hours and share counters, then only the new one works', async () => {
    const old = await app.ring.issue({ requests: 3 })
    const before = app.now().getTime()
    const { status, body, headers } = await roll(old)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('x-ratelimit-remaining')).toBe('3')
    const { key, key_id, prefix, former_until: until, former_until_iso: iso } = body
    expect(key_id).toBe(old.id)
    expect(key).not.toBe(old.secret)
    expect(
      String(key).startsWith(String(prefix)) && old.secret.startsWith(String(prefix)),
    ).toBeTruthy()
    expect(iso).toBe(`${String(until).replace(' ', 'T')}Z`)
    const rolledAt = new Date(String(iso)).getTime() - DAY_SECONDS * 1_000
    // Whole seconds.
    expect(rolledAt).toBeGreaterThan(before - 1_000)
    expect(rolledAt).toBeLessThanOrEqual(app.now().getTime())

    expect(await app.ring.used(old)).toBe(0)
    expect((await read(old)).status).toBe(200)
    expect((await read(withKey(key))).status).toBe(200)
    expect(await app.ring.used(old)).toBe(2)
    app.moveClock(DAY_SECONDS + 5)
    expect((await read(old)).status).toBe(401)
    expect((await read(withKey(key))).status).toBe(200)
  })

  test('an exhausted key can be rolled, and stays exhausted', async () => {
    const old = await app.ring.issue({ requests: 1 })
    expect((await read(old)).status).toBe(200)
    const { status, body } = await roll(old)
    expect(status).toBe(200)
    expect((await read(withKey(body['key']))).status).toBe(402)
  })
})

describe('401', () => {
  test('a missing, wrong or revoked key is refused, and so is a key in the query', async () => {
    const revoked = await app.ring.issue()
    await app.ring.shop.revokeKey(revoked.id)
    const { secret } = await app.ring.issue()
    for (const response of [
      await roll({ headers: {} }),
      await roll(withKey('wrong')),
      await request(`${app.url}/api/roll-key?apikey=${secret}`, { method: 'POST' }),
      await roll(revoked),
    ]) {
      expect([response.status, response.body['code']]).toStrictEqual([401, 'invalid_key'])
      expect(problemFault(response)).toBeUndefined()
    }
  })
})

describe('409', () => {
  test('a key cannot be rolled twice, and the new key still works', async () => {
    const old = await app.ring.issue()
    const { body } = await roll(old)
    const response = await roll(old)
    expect([response.status, response.body['code']]).toStrictEqual([409, 'already_rolled'])
    expect(problemFault(response)).toBeUndefined()
    for (const key of [old, withKey(body['key'])]) expect((await read(key)).status).toBe(200)
  })

  test('the new key cannot be rolled while the old one works, and the message says until when', async () => {
    const old = await app.ring.issue()
    const { body } = await roll(old)
    const current = withKey(body['key'])
    const response = await roll(current)
    expect([response.status, response.body['code']]).toStrictEqual([409, 'already_rolled'])
    expect(String(response.body['message'])).toContain(`works until ${body['former_until']} UTC`)
    expect(problemFault(response)).toBeUndefined()
    for (const key of [old, current]) expect((await read(key)).status).toBe(200)
    app.moveClock(DAY_SECONDS + 5)
    expect((await roll(current)).status).toBe(200)
  })

  test('of ten concurrent rolls one succeeds, and the old key still works', async () => {
    const old = await app.ring.issue()
    const rolls = await Promise.all(Array.from({ length: 10 }, () => roll(old)))
    const statuses = rolls.map(({ status }) => status).toSorted()
    expect(statuses).toStrictEqual([200, ...Array<number>(9).fill(409)])
    expect((await read(old)).status).toBe(200)
  })
})

describe('429', () => {
  test('a client can call roll-key ten times a minute', async () => {
    const client = newClient()
    const key = await app.ring.issue()
    const statuses = new Set<number>()
    await expectRate({ count: 10, seconds: 6 }, async () => {
      const headers = { ...key.headers, 'x-forwarded-for': client }
      const options = { method: 'POST', path: '/api/roll-key', headers }
      const { status } = await requestFrom(app.httpPort, PROXY, options)
      statuses.add(status)
      return status !== 429
    })
    expect([...statuses]).toStrictEqual([200, 409, 429])
    expect((await read(key)).status).toBe(200)
  })
})
