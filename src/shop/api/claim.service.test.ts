import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import {
  claim,
  createOrder,
  FAKE_SHOP,
  payOrder,
  revokeKeyOf,
} from '../../../test/kit/shop/shop-client.ts'

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
    expect(headers.get('cache-control')).toBe('no-store')
    const { key, prefix, key_id } = body
    expect(String(key)).toMatch(/^mf_test_[A-Za-z0-9]{37}$/)
    expect(String(key).startsWith(String(prefix))).toBeTruthy()
    expect(String(key_id)).toMatch(/^key_/)
    expect([body['requests'], body['per_day']]).toStrictEqual([100_000, 1_000])
    const usage = await request(`${app.url}/usage`, { headers: { apikey: String(key) } })
    expect([usage.status, usage.body['expires_at']]).toStrictEqual([200, body['expires_at']])
  })

  test('a second claim within a day returns a new key and invalidates the first', async () => {
    const order = await paidOrder()
    const first = await claim(app.url, order)
    const second = await claim(app.url, order)
    expect(first.body['key']).not.toBe(second.body['key'])
    expect(first.body['key_id']).toBe(second.body['key_id'])
    expect(await usageStatus(first.body['key'])).toBe(401)
    expect(await usageStatus(second.body['key'])).toBe(200)
  })

  test('50 concurrent claims each return a key, and exactly one works', async () => {
    const order = await paidOrder()
    const claims = await Promise.all(Array.from({ length: 50 }, () => claim(app.url, order)))
    const statuses = await Promise.all(claims.map(({ body }) => usageStatus(body['key'])))
    expect(statuses.filter((status) => status === 200).length).toBe(1)
    expect(statuses.filter((status) => status === 401).length).toBe(49)
  })
})

describe('400', () => {
  test('a missing claim secret is refused', async () => {
    const { id } = await paidOrder()
    const response = await request(`${app.url}/api/orders/${id}/claim`, { method: 'POST' })
    expect([response.status, response.body['code']]).toStrictEqual([400, 'missing_parameter'])
    expect(String(response.body['message'])).toMatch(/^Claim-Secret: /)
  })
})

describe('404', () => {
  test('the secret of another order is refused', async () => {
    const [one, other] = [await paidOrder(), await paidOrder()]
    const response = await claim(app.url, { ...one, secret: other.secret })
    expect([response.status, response.body['code']]).toStrictEqual([404, 'not_found'])
    expect(problemFault(response)).toBeUndefined()
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
      expect([response.status, response.body['code']]).toStrictEqual([409, 'order_unpaid'])
      expect(problemFault(response)).toBeUndefined()
    })
  }

  test('an order with a revoked key cannot be claimed', async () => {
    const order = await paidOrder()
    await revokeKeyOf(app, order)
    const response = await claim(app.url, order)
    expect([response.status, response.body['code']]).toStrictEqual([409, 'order_stopped'])
    expect(String(response.body['message'])).toMatch(/revoked/)
    expect(problemFault(response)).toBeUndefined()
  })

  test('a key cannot be claimed again after a day', async () => {
    const order = await paidOrder()
    const { body } = await claim(app.url, order)
    app.moveClock(86_400)
    const response = await claim(app.url, order)
    expect([response.status, response.body['code']]).toStrictEqual([409, 'already_claimed'])
    expect(await usageStatus(body['key'])).toBe(200)
  })
})
