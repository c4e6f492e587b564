import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
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
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

async function paidOrder(plan = 'starter') {
  const order = await createOrder(app.url, { plan })
  await payOrder(app.url, order)
  return order
}

async function usageStatus(key: unknown): Promise<number> {
  return (await request(`${app.url}/usage`, { headers: { apikey: String(key) } })).status
}

describe('200', () => {
  test('a claim returns a working key and the limits of its plan', async () => {
    const { body, headers } = await claim(app.url, await paidOrder('business'))
    assert.equal(headers.get('cache-control'), 'no-store')
    const { key, prefix, key_id } = body
    assert.match(String(key), /^mf_test_[A-Za-z0-9]{37}$/)
    assert.ok(String(key).startsWith(String(prefix)))
    assert.match(String(key_id), /^key_/)
    assert.deepEqual([body['requests'], body['per_day']], [100_000, 1_000])
    const usage = await request(`${app.url}/usage`, { headers: { apikey: String(key) } })
    assert.deepEqual([usage.status, usage.body['expires_at']], [200, body['expires_at']])
  })

  test('a second claim within a day returns a new key and invalidates the first', async () => {
    const order = await paidOrder()
    const first = await claim(app.url, order)
    const second = await claim(app.url, order)
    assert.notEqual(first.body['key'], second.body['key'])
    assert.equal(first.body['key_id'], second.body['key_id'])
    assert.equal(await usageStatus(first.body['key']), 401)
    assert.equal(await usageStatus(second.body['key']), 200)
  })

  test('50 concurrent claims each return a key, and exactly one works', async () => {
    const order = await paidOrder()
    const claims = await Promise.all(Array.from({ length: 50 }, () => claim(app.url, order)))
    const statuses = await Promise.all(claims.map(({ body }) => usageStatus(body['key'])))
    assert.equal(statuses.filter((status) => status === 200).length, 1)
    assert.equal(statuses.filter((status) => status === 401).length, 49)
  })
})

describe('400', () => {
  test('a missing claim secret is refused', async () => {
    const { id } = await paidOrder()
    const response = await request(`${app.url}/api/orders/${id}/claim`, { method: 'POST' })
    assert.deepEqual([response.status, response.body['code']], [400, 'missing_parameter'])
    assert.match(String(response.body['message']), /^Claim-Secret: /)
  })
})

describe('404', () => {
  test('the secret of another order is refused', async () => {
    const [one, other] = [await paidOrder(), await paidOrder()]
    const response = await claim(app.url, { ...one, secret: other.secret })
    assert.deepEqual([response.status, response.body['code']], [404, 'not_found'])
    assert.equal(problemFault(response), undefined)
  })
})

describe('409', () => {
  for (const [name, outcomes] of [
    ['is unpaid', []],
    ['is pending', ['later']],
    ['has failed', ['decline']],
  ] as const) {
    test(`an order that ${name} cannot be claimed`, async () => {
      const order = await createOrder(app.url)
      for (const outcome of outcomes) await payOrder(app.url, order, outcome)
      const response = await claim(app.url, order)
      assert.deepEqual([response.status, response.body['code']], [409, 'order_unpaid'])
      assert.equal(problemFault(response), undefined)
    })
  }

  test('an order with a revoked key cannot be claimed', async () => {
    const order = await paidOrder()
    await revokeKeyOf(app, order)
    const response = await claim(app.url, order)
    assert.deepEqual([response.status, response.body['code']], [409, 'order_stopped'])
    assert.match(String(response.body['message']), /revoked/)
    assert.equal(problemFault(response), undefined)
  })

  test('a key cannot be claimed again after a day', async () => {
    const order = await paidOrder()
    const { body } = await claim(app.url, order)
    app.moveClock(86_400)
    const response = await claim(app.url, order)
    assert.deepEqual([response.status, response.body['code']], [409, 'already_claimed'])
    assert.equal(await usageStatus(body['key']), 200)
  })
})
