import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { problemFault, request, requestFrom } from '../../../test/support/http-client.ts'
import { type AppWithKeys, sharedAppWithKeys, type TestKey } from '../../../test/support/keys.ts'
import { newClient, PROXY } from '../../../test/support/trusted-proxy.ts'

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
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-ratelimit-remaining'), '3')
    const { key, key_id, prefix, former_until: until, former_until_iso: iso } = body
    assert.equal(key_id, old.id)
    assert.notEqual(key, old.secret)
    assert.ok(String(key).startsWith(String(prefix)) && old.secret.startsWith(String(prefix)))
    assert.equal(iso, `${String(until).replace(' ', 'T')}Z`)
    const remainingMs = new Date(String(iso)).getTime() - before
    assert.ok(Math.abs(remainingMs - DAY_SECONDS * 1000) < 5_000, `${remainingMs} ms`)

    assert.equal(await app.ring.used(old), 0)
    assert.equal((await read(old)).status, 200)
    assert.equal((await read(withKey(key))).status, 200)
    assert.equal(await app.ring.used(old), 2)
    app.moveClock(DAY_SECONDS + 5)
    assert.equal((await read(old)).status, 401)
    assert.equal((await read(withKey(key))).status, 200)
  })

  test('an exhausted key can be rolled, and stays exhausted', async () => {
    const old = await app.ring.issue({ requests: 1 })
    assert.equal((await read(old)).status, 200)
    const { status, body } = await roll(old)
    assert.equal(status, 200)
    assert.equal((await read(withKey(body['key']))).status, 402)
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
      assert.deepEqual([response.status, response.body['code']], [401, 'invalid_key'])
      assert.equal(problemFault(response), undefined)
    }
  })
})

describe('409', () => {
  test('a key cannot be rolled twice, and the new key still works', async () => {
    const old = await app.ring.issue()
    const { body } = await roll(old)
    const response = await roll(old)
    assert.deepEqual([response.status, response.body['code']], [409, 'already_rolled'])
    assert.equal(problemFault(response), undefined)
    for (const key of [old, withKey(body['key'])]) assert.equal((await read(key)).status, 200)
  })

  test('the new key cannot be rolled while the old one works, and the message says until when', async () => {
    const old = await app.ring.issue()
    const { body } = await roll(old)
    const current = withKey(body['key'])
    const response = await roll(current)
    assert.deepEqual([response.status, response.body['code']], [409, 'already_rolled'])
    assert.ok(String(response.body['message']).includes(`works until ${body['former_until']} UTC`))
    assert.equal(problemFault(response), undefined)
    for (const key of [old, current]) assert.equal((await read(key)).status, 200)
    app.moveClock(DAY_SECONDS + 5)
    assert.equal((await roll(current)).status, 200)
  })

  test('of ten concurrent rolls one succeeds, and the old key still works', async () => {
    const old = await app.ring.issue()
    const rolls = await Promise.all(Array.from({ length: 10 }, () => roll(old)))
    const statuses = rolls.map(({ status }) => status).toSorted()
    assert.deepEqual(statuses, [200, ...Array<number>(9).fill(409)])
    assert.equal((await read(old)).status, 200)
  })
})

describe('429', () => {
  test('a client can call roll-key ten times a minute', async () => {
    const client = newClient()
    const key = await app.ring.issue()
    const statuses: number[] = []
    for (let count = 0; count < 11; count += 1) {
      const headers = { ...key.headers, 'x-forwarded-for': client }
      const options = { method: 'POST', path: '/api/roll-key', headers }
      statuses.push((await requestFrom(app.httpPort, PROXY, options)).status)
    }
    assert.deepEqual(statuses, [200, ...Array<number>(9).fill(409), 429])
    assert.equal((await read(key)).status, 200)
  })
})
