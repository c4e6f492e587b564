import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import { problemFault, request } from '../../../test/kit/http/http-client.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import {
  claim,
  createOrder,
  FAKE_SHOP,
  getOrder,
  payOrder,
  revokeKeyOf,
} from '../../../test/kit/shop/shop-client.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

describe('200', () => {
  test('an open order has the payment URL and no key prefix', async () => {
    const order = await createOrder(app.url, { plan: 'business' })
    const { body, headers } = await getOrder(app.url, order)
    expect(headers.get('cache-control')).toBe('no-store')
    const { created_at, created_at_iso, next, ...rest } = body
    expect(String(created_at)).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    expect(created_at_iso).toBe(`${String(created_at).replace(' ', 'T')}Z`)
    expect(String(next)).toMatch(/Complete the payment/)
    expect(rest).toStrictEqual({
      status: 'success',
      order_id: order.id,
      plan: 'business',
      plan_name: 'Business',
      price: { cents: 4_500, currency: 'usd', text: '45 USD', term: 'a year' },
      state: 'open',
      url: order.payUrl,
      paid_until: null,
      paid_until_iso: null,
      claimable: false,
      claimed_at: null,
      claimed_at_iso: null,
      key_prefix: null,
    })
  })

  test('a paid order has its expiry and key prefix', async () => {
    const order = await createOrder(app.url, { plan: 'business' })
    await payOrder(app.url, order)
    const { body } = await getOrder(app.url, order)
    expect([body['state'], body['claimable'], body['url']]).toStrictEqual(['paid', true, null])
    expect(String(body['key_prefix'])).toMatch(/^mf_test_\w{4}$/)
    const remainingMs = Date.parse(String(body['paid_until_iso'])) - app.now().getTime()
    expect(remainingMs > 364 * 86_400_000 && remainingMs < 367 * 86_400_000).toBeTruthy()
  })

  test('a claimed order has the time of the claim, and is not claimable a day later', async () => {
    const order = await createOrder(app.url)
    await payOrder(app.url, order)
    await claim(app.url, order)
    const { body } = await getOrder(app.url, order)
    expect(body['claimable']).toBe(true)
    expect(String(body['claimed_at'])).toMatch(/^\d{4}-/)
    app.moveClock(86_400)
    const later = await getOrder(app.url, order)
    expect(later.body['claimable']).toBe(false)
    expect(later.body['claimed_at']).toBe(body['claimed_at'])
  })

  test('a revoked key is not claimable, and the next step says so', async () => {
    const order = await createOrder(app.url)
    await payOrder(app.url, order)
    await revokeKeyOf(app, order)
    const { body } = await getOrder(app.url, order)
    expect([body['state'], body['claimable']]).toStrictEqual(['paid', false])
    expect(String(body['next'])).toMatch(/revoked/)
  })

  for (const [outcome, state, payable] of [
    ['later', 'pending', true],
    ['decline', 'failed', false],
  ] as const) {
    test(`${outcome} on the payment page makes the order ${state}`, async () => {
      const order = await createOrder(app.url)
      await payOrder(app.url, order, outcome)
      const { body } = await getOrder(app.url, order)
      expect([body['state'], body['url'] !== null]).toStrictEqual([state, payable])
    })
  }
})

describe('400', () => {
  for (const headers of [{}, { 'claim-secret': '' }]) {
    test(`${JSON.stringify(headers)}: the message names the missing header`, async () => {
      const { id } = await createOrder(app.url)
      const response = await request(`${app.url}/api/orders/${id}`, { headers })
      expect([response.status, response.body['code']]).toStrictEqual([400, 'missing_parameter'])
      expect(String(response.body['message'])).toMatch(/^Claim-Secret: /)
      expect(problemFault(response)).toBeUndefined()
    })
  }

  test('a claim secret in the query is ignored', async () => {
    const { id, secret } = await createOrder(app.url)
    const response = await request(
      `${app.url}/api/orders/${id}?claim-secret=${secret}&token=${secret}`,
    )
    expect(response.status).toBe(400)
  })
})

describe('404', () => {
  test('a wrong secret and an unknown order get the same response', async () => {
    const order = await createOrder(app.url)
    const other = await createOrder(app.url)
    const responses = [
      await getOrder(app.url, { ...order, secret: other.secret }),
      await getOrder(app.url, { ...order, secret: `${order.secret}x` }),
      await getOrder(app.url, { ...order, secret: 'x'.repeat(8_000) }),
      await getOrder(app.url, { ...order, id: `ord_${'0'.repeat(22)}` }),
      await getOrder(app.url, { ...order, id: 'nonsense' }),
      await getOrder(app.url, { ...order, id: '%00' }),
    ]
    const summaries = responses.map(({ status, body }) =>
      [status, body['code'], body['message']].join(),
    )
    expect(new Set(summaries).size).toBe(1)
    expect(summaries[0] ?? '').toMatch(/^404,not_found,/)
  })
})
