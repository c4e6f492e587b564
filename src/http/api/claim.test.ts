import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import { problemFault, request } from '../../../test/support/http-client.ts'
import {
  claim,
  createOrder,
  FAKE_SHOP,
  payOrder,
  revokeKeyOf,
} from '../../../test/support/shop-client.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, ...FAKE_SHOP } })
})
afterAll(() => app.stop())

async function paid(plan = 'starter') {
  const made = await createOrder(app.url, { plan })
  await payOrder(app.url, made)
  return made
}

async function usageStatus(key: unknown): Promise<number> {
  return (await request(`${app.url}/usage`, { headers: { apikey: String(key) } })).status
}

describe('200', () => {
  test('shows a key that opens, with the figures of its plan', async () => {
    const { body, headers } = await claim(app.url, await paid('business'))
    assert.equal(headers.get('cache-control'), 'no-store')
    const { key, prefix, key_id } = body
    assert.match(String(key), /^mf_test_[A-Za-z0-9]{37}$/)
    assert.ok(String(key).startsWith(String(prefix)))
    assert.match(String(key_id), /^key_/)
    assert.deepEqual([body['requests'], body['per_day']], [100_000, 1_000])
    const usage = await request(`${app.url}/usage`, { headers: { apikey: String(key) } })
    assert.deepEqual([usage.status, usage.body['expires_at']], [200, body['expires_at']])
  })

  test('again within a day: a new key, and the former has ended', async () => {
    const made = await paid()
    const first = await claim(app.url, made)
    const second = await claim(app.url, made)
    assert.notEqual(first.body['key'], second.body['key'])
    assert.equal(first.body['key_id'], second.body['key_id'])
    assert.equal(await usageStatus(first.body['key']), 401)
    assert.equal(await usageStatus(second.body['key']), 200)
  })

  test('fifty at once: each hears a key, and one of them opens', async () => {
    const made = await paid()
    const claims = await Promise.all(Array.from({ length: 50 }, () => claim(app.url, made)))
    const statuses = await Promise.all(claims.map(({ body }) => usageStatus(body['key'])))
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    assert.equal(statuses.filter((status) => status === 401).length, 49)
  })
})

describe('400', () => {
  test('without the claim secret', async () => {
    const { id } = await paid()
    const asked = await request(`${app.url}/api/orders/${id}/claim`, { method: 'POST' })
    assert.deepEqual([asked.status, asked.body['code']], [400, 'missing_parameter'])
    assert.match(String(asked.body['message']), /^Claim-Secret: /)
  })
})

describe('404', () => {
  test('with the secret of another order', async () => {
    const [one, other] = [await paid(), await paid()]
    const asked = await claim(app.url, { ...one, secret: other.secret })
    assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
    assert.equal(problemFault(asked), undefined)
  })
})

describe('409', () => {
  for (const [name, outcomes] of [
    ['is not paid', []],
    ['is under way', ['later']],
    ['failed', ['decline']],
  ] as const) {
    test(`an order that ${name}`, async () => {
      const made = await createOrder(app.url)
      for (const outcome of outcomes) await payOrder(app.url, made, outcome)
      const asked = await claim(app.url, made)
      assert.deepEqual([asked.status, asked.body['code']], [409, 'order_unpaid'])
      assert.equal(problemFault(asked), undefined)
    })
  }

  test('an order whose key was revoked', async () => {
    const made = await paid()
    await revokeKeyOf(app, made)
    const asked = await claim(app.url, made)
    assert.deepEqual([asked.status, asked.body['code']], [409, 'order_stopped'])
    assert.match(String(asked.body['message']), /revoked/)
    assert.equal(problemFault(asked), undefined)
  })

  test('a key that was first shown a day ago', async () => {
    const made = await paid()
    const { body } = await claim(app.url, made)
    app.moveClock(86_400)
    const asked = await claim(app.url, made)
    assert.deepEqual([asked.status, asked.body['code']], [409, 'already_claimed'])
    assert.equal(await usageStatus(body['key']), 200)
  })
})
