import assert from 'node:assert/strict'
import { beforeAll, describe, test } from 'vitest'
import { type App, sharedApp } from '../../../test/support/app.ts'
import { problemFault, request } from '../../../test/support/http-client.ts'
import {
  claim,
  createOrder,
  FAKE_SHOP,
  getOrder,
  payOrder,
  revokeKeyOf,
} from '../../../test/support/shop-client.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

describe('200', () => {
  test('an open order has the payment URL and no key prefix', async () => {
    const order = await createOrder(app.url, { plan: 'business' })
    const { body, headers } = await getOrder(app.url, order)
    assert.equal(headers.get('cache-control'), 'no-store')
    const { created_at, created_at_iso, next, ...rest } = body
    assert.match(String(created_at), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(created_at_iso, `${String(created_at).replace(' ', 'T')}Z`)
    assert.match(String(next), /Complete the payment/)
    assert.deepEqual(rest, {
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
    assert.deepEqual([body['state'], body['claimable'], body['url']], ['paid', true, null])
    assert.match(String(body['key_prefix']), /^mf_test_\w{4}$/)
    const remainingMs = Date.parse(String(body['paid_until_iso'])) - app.now().getTime()
    assert.ok(remainingMs > 364 * 86_400_000 && remainingMs < 367 * 86_400_000)
  })

  test('a claimed order has the time of the claim, and is not claimable a day later', async () => {
    const order = await createOrder(app.url)
    await payOrder(app.url, order)
    await claim(app.url, order)
    const { body } = await getOrder(app.url, order)
    assert.equal(body['claimable'], true)
    assert.match(String(body['claimed_at']), /^\d{4}-/)
    app.moveClock(86_400)
    const later = await getOrder(app.url, order)
    assert.equal(later.body['claimable'], false)
    assert.equal(later.body['claimed_at'], body['claimed_at'])
  })

  test('a revoked key is not claimable, and the next step says so', async () => {
    const order = await createOrder(app.url)
    await payOrder(app.url, order)
    await revokeKeyOf(app, order)
    const { body } = await getOrder(app.url, order)
    assert.deepEqual([body['state'], body['claimable']], ['paid', false])
    assert.match(String(body['next']), /revoked/)
  })

  for (const [outcome, state, payable] of [
    ['later', 'pending', true],
    ['decline', 'failed', false],
  ] as const) {
    test(`${outcome} on the payment page makes the order ${state}`, async () => {
      const order = await createOrder(app.url)
      await payOrder(app.url, order, outcome)
      const { body } = await getOrder(app.url, order)
      assert.deepEqual([body['state'], body['url'] !== null], [state, payable])
    })
  }
})

describe('400', () => {
  for (const headers of [{}, { 'claim-secret': '' }]) {
    test(`${JSON.stringify(headers)}: the message names the missing header`, async () => {
      const { id } = await createOrder(app.url)
      const response = await request(`${app.url}/api/orders/${id}`, { headers })
      assert.deepEqual([response.status, response.body['code']], [400, 'missing_parameter'])
      assert.match(String(response.body['message']), /^Claim-Secret: /)
      assert.equal(problemFault(response), undefined)
    })
  }

  test('a claim secret in the query is ignored', async () => {
    const { id, secret } = await createOrder(app.url)
    const response = await request(
      `${app.url}/api/orders/${id}?claim-secret=${secret}&token=${secret}`,
    )
    assert.equal(response.status, 400)
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
    assert.equal(new Set(summaries).size, 1)
    assert.match(summaries[0] ?? '', /^404,not_found,/)
  })
})
