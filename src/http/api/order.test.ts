import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
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
  app = await startApp({ env: { ...PROXY_ENV, ...FAKE_SHOP } })
})
afterAll(() => app.stop())

describe('200', () => {
  test('an open order tells where to pay, and nothing of a key', async () => {
    const made = await createOrder(app.url, { plan: 'business' })
    const { body, headers } = await getOrder(app.url, made)
    assert.equal(headers.get('cache-control'), 'no-store')
    const { created_at, created_at_iso, next, ...rest } = body
    assert.match(String(created_at), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
    assert.equal(created_at_iso, `${String(created_at).replace(' ', 'T')}Z`)
    assert.match(String(next), /Complete the payment/)
    assert.deepEqual(rest, {
      status: 'success',
      order_id: made.id,
      plan: 'business',
      plan_name: 'Business',
      price: { cents: 4_500, currency: 'usd', text: '45 USD', term: 'a year' },
      state: 'open',
      url: made.payUrl,
      paid_until: null,
      paid_until_iso: null,
      claimable: false,
      claimed_at: null,
      claimed_at_iso: null,
      key_prefix: null,
    })
  })

  test('a paid order tells until when, and how its key begins', async () => {
    const made = await createOrder(app.url, { plan: 'business' })
    await payOrder(app.url, made)
    const { body } = await getOrder(app.url, made)
    assert.deepEqual([body['state'], body['claimable'], body['url']], ['paid', true, null])
    assert.match(String(body['key_prefix']), /^mf_test_\w{4}$/)
    const years = Date.parse(String(body['paid_until_iso'])) - app.now().getTime()
    assert.ok(years > 364 * 86_400_000 && years < 367 * 86_400_000)
  })

  test('a claimed order tells when; a day later it cannot be claimed again', async () => {
    const made = await createOrder(app.url)
    await payOrder(app.url, made)
    await claim(app.url, made)
    const { body } = await getOrder(app.url, made)
    assert.equal(body['claimable'], true)
    assert.match(String(body['claimed_at']), /^\d{4}-/)
    app.moveClock(86_400)
    const later = await getOrder(app.url, made)
    assert.equal(later.body['claimable'], false)
    assert.equal(later.body['claimed_at'], body['claimed_at'])
  })

  test('a key that was revoked cannot be claimed, and the next step says so', async () => {
    const made = await createOrder(app.url)
    await payOrder(app.url, made)
    await revokeKeyOf(app, made)
    const { body } = await getOrder(app.url, made)
    assert.deepEqual([body['state'], body['claimable']], ['paid', false])
    assert.match(String(body['next']), /revoked/)
  })

  for (const [outcome, state, payable] of [
    ['later', 'pending', true],
    ['decline', 'failed', false],
  ] as const) {
    test(`${outcome} on the pay page leaves it ${state}`, async () => {
      const made = await createOrder(app.url)
      await payOrder(app.url, made, outcome)
      const { body } = await getOrder(app.url, made)
      assert.deepEqual([body['state'], body['url'] !== null], [state, payable])
    })
  }
})

describe('400', () => {
  for (const headers of [{}, { 'claim-secret': '' }]) {
    test(`${JSON.stringify(headers)}: the header is asked for by its name`, async () => {
      const { id } = await createOrder(app.url)
      const asked = await request(`${app.url}/api/orders/${id}`, { headers })
      assert.deepEqual([asked.status, asked.body['code']], [400, 'missing_parameter'])
      assert.match(String(asked.body['message']), /^Claim-Secret: /)
      assert.equal(problemFault(asked), undefined)
    })
  }

  test('a secret in the address counts for nothing', async () => {
    const { id, secret } = await createOrder(app.url)
    const asked = await request(
      `${app.url}/api/orders/${id}?claim-secret=${secret}&token=${secret}`,
    )
    assert.equal(asked.status, 400)
  })
})

describe('404', () => {
  test('a wrong secret, another order’s and an order that never was: the same words', async () => {
    const made = await createOrder(app.url)
    const other = await createOrder(app.url)
    const answers = [
      await getOrder(app.url, { ...made, secret: other.secret }),
      await getOrder(app.url, { ...made, secret: `${made.secret}x` }),
      await getOrder(app.url, { ...made, secret: 'x'.repeat(8_000) }),
      await getOrder(app.url, { ...made, id: `ord_${'0'.repeat(22)}` }),
      await getOrder(app.url, { ...made, id: 'nonsense' }),
      await getOrder(app.url, { ...made, id: '%00' }),
    ]
    const told = answers.map(({ status, body }) => [status, body['code'], body['message']].join())
    assert.equal(new Set(told).size, 1)
    assert.match(told[0] ?? '', /^404,not_found,/)
  })
})
