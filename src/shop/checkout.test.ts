import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { isProblem } from '../../test/support/problem.ts'
import { KEY_RANDOM_BYTES } from '../keys/rules.ts'
import { checkout } from './checkout.ts'
import { findOrder } from './order.ts'
import { openShopFixture, type ShopFixture, SITE } from './testing/shop.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await openShopFixture()
})
afterAll(() => fixture.stop())

let idempotency = { key: '', client: '192.0.2.1' }
let before: number
beforeEach(async () => {
  idempotency = { ...idempotency, key: `${idempotency.key}another key ` }
  before = (await fixture.shop.listPurchases({ limit: 1_000 })).length
  fixture.stripe.outage = undefined
  fixture.logged.length = 0
})

/** Number of orders created by this test. */
async function ordersCreated(): Promise<number> {
  return (await fixture.shop.listPurchases({ limit: 1_000 })).length - before
}

test('an order is stored with its plan, and found only with its claim secret', async () => {
  const { order, url, claimSecret } = await fixture.order({ plan: 'business' })
  assert.match(order.id, /^ord_[A-Za-z0-9]{22}$/)
  assert.match(order.keyPrefix, /^mf_test_[A-Za-z0-9]{4}$/)
  assert.equal(order.plan.id, 'business')
  const [session = ''] = fixture.stripe.sessionsOf(order.id)
  const stored = await findOrder(fixture.deps, order.id, claimSecret)
  assert.deepEqual([stored.checkoutRef, stored.checkoutUrl, stored.state], [session, url, 'open'])
})

test('each order has its own claim secret', async () => {
  const [one, other] = [await fixture.order(), await fixture.order()]
  assert.notEqual(one.claimSecret, other.claimSecret)
  assert.notEqual(one.order.id, other.order.id)
  await assert.rejects(
    findOrder(fixture.deps, one.order.id, other.claimSecret),
    isProblem('not_found'),
  )
})

describe('with an Idempotency-Key', () => {
  test('fifty concurrent requests get one order, one checkout page and one secret', async () => {
    const checkouts = await Promise.all(
      Array.from({ length: 50 }, () => fixture.order({ idempotency, email: 'ann@buyer.example' })),
    )
    const responses = checkouts.map(({ order, url, claimSecret }) =>
      [order.id, url, claimSecret].join(' '),
    )
    assert.equal(new Set(responses).size, 1)
    assert.equal(await ordersCreated(), 1)
    assert.equal(fixture.stripe.sessionsOf(checkouts[0]?.order.id ?? '').length, 1)
  })

  test('a repeated request causes no request to Stripe', async () => {
    await fixture.order({ idempotency })
    const requestsBefore = fixture.stripe.requests.length
    await fixture.order({ idempotency })
    assert.equal(fixture.stripe.requests.length, requestsBefore)
  })

  for (const [name, other] of [
    ['another key', () => ({ ...idempotency, key: `${idempotency.key}!` })],
    ['the same key of another client', () => ({ ...idempotency, client: '192.0.2.2' })],
    [
      'a pair with the same concatenation',
      () => ({ key: `${idempotency.key}1`, client: '92.0.2.1' }),
    ],
  ] as const) {
    test(`${name} creates another order with another secret`, async () => {
      const first = await fixture.order({ idempotency })
      const second = await fixture.order({ idempotency: other() })
      assert.notEqual(first.order.id, second.order.id)
      assert.notEqual(first.claimSecret, second.claimSecret)
    })
  }

  for (const [name, other] of [
    ['another plan', { plan: 'business' }],
    ['another email address', { email: 'bob@buyer.example' }],
    ['no email address', { email: undefined }],
  ] as const) {
    test(`${name} under the same key is refused`, async () => {
      const request = { idempotency, email: 'ann@buyer.example' }
      const first = await fixture.order(request)
      await assert.rejects(
        fixture.order({ ...request, ...other }),
        isProblem('idempotency_conflict'),
      )
      assert.equal((await fixture.order(request)).claimSecret, first.claimSecret)
    })
  }

  for (const [name, currentPay] of [
    ['another provider', { provider: 'fake' }],
    ['another mode', { mode: 'live' }],
  ] as const) {
    test(`an order placed through ${name} is not reused, because nobody would settle it`, async () => {
      const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...currentPay } }
      const request = { plan: 'starter', email: undefined, idempotency, baseUrl: SITE }
      const first = await fixture.order({ idempotency })
      const second = await checkout(deps, request)
      assert.notEqual(second.order.id, first.order.id)
      const { provider, mode } = await fixture.read(second.order.id)
      assert.deepEqual({ provider, mode }, { provider: 'stripe', mode: 'test', ...currentPay })

      // If such an order is returned nevertheless, its checkout is not opened.
      const { shop } = deps
      const reusing = { ...deps, shop: { ...shop, addPurchase: async () => first.order } }
      await assert.rejects(checkout(reusing, request), isProblem('idempotency_conflict'))
    })
  }

  test('the claim secret cannot be derived from the key and the order id', async () => {
    const other = await openShopFixture()
    // Two installations with equal random bytes for orders still have different secrets.
    const randomBytes = (count: number) =>
      count === KEY_RANDOM_BYTES
        ? Buffer.alloc(count, idempotency.key)
        : fixture.deps.randomBytes(count)
    const request = { plan: 'starter', email: undefined, idempotency, baseUrl: SITE }
    const first = await checkout({ ...fixture.deps, randomBytes }, request)
    const second = await checkout({ ...other.deps, randomBytes }, request)
    await other.stop()
    assert.equal(second.order.id, first.order.id)
    assert.notEqual(second.claimSecret, first.claimSecret)
    assert.equal((await checkout(fixture.deps, request)).claimSecret, first.claimSecret)
  })

  test('two orders of the same client and key have different secrets', async () => {
    const first = await fixture.order({ idempotency })
    const pay = { ...fixture.deps.pay, mode: 'live' as const }
    const request = { plan: 'starter', email: undefined, idempotency, baseUrl: SITE }
    const second = await checkout({ ...fixture.deps, pay }, request)
    assert.notEqual(second.claimSecret, first.claimSecret)
  })

  test('a request repeated after a provider error continues with the same order', async () => {
    fixture.stripe.outage = 'error'
    await assert.rejects(fixture.order({ idempotency }), isProblem('payment_unavailable'))
    assert.equal(await ordersCreated(), 1)
    fixture.stripe.outage = undefined
    const { order, url } = await fixture.order({ idempotency })
    assert.equal((await fixture.read(order.id)).checkoutUrl, url)
    assert.equal(await ordersCreated(), 1)
  })
})

test('an error of the provider is logged without its secret key', async () => {
  fixture.stripe.outage = 'error'
  await assert.rejects(fixture.order(), isProblem('payment_unavailable'))
  const [line] = fixture.logged
  assert.match(line?.facts['err'] instanceof Error ? line.facts['err'].message : '', /^Stripe: /)
  const logged = fixture.logged.map(({ facts }) => String(facts['err'])).join()
  assert.ok(!logged.includes(fixture.stripe.secretKey))
})

test('an unknown plan is refused with the available names', async () => {
  await assert.rejects(fixture.order({ plan: 'gold' }), (error: Error) => {
    assert.ok(isProblem('invalid_parameter')(error))
    assert.match(error.message, /starter, business/)
    return true
  })
  assert.equal(await ordersCreated(), 0)
})

test('with manual payments checkout is not found', async () => {
  const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, provider: 'manual' as const } }
  const request = { plan: 'gold', email: undefined, idempotency: undefined, baseUrl: 'http://here' }
  await assert.rejects(checkout(deps, request), isProblem('not_found'))
  assert.equal(await ordersCreated(), 0)
})

describe('email address of the buyer', () => {
  for (const [given, stored] of [
    ['ann@buyer.example', 'ann@buyer.example'],
    ["Ann.O'Neil+mail@Buyer.Example", "Ann.O'Neil+mail@buyer.example"],
    ['ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ] as const) {
    test(`${given} is accepted`, async () => {
      assert.equal((await fixture.order({ email: given })).order.email, stored)
    })
  }

  for (const given of [
    'ann',
    'ann@',
    '@buyer.example',
    'ann@localhost',
    'ann@192.0.2.1',
    'ann@[192.0.2.1]',
    'a b@buyer.example',
    'ann@buyer.example\r\nBcc: bob@buyer.example',
    'ann@buyer.example,bob@buyer.example',
    'Ann <ann@buyer.example>',
    '"ann b"@buyer.example',
    'ann..b@buyer.example',
    `${'a'.repeat(65)}@buyer.example`,
    'ann\u0000@buyer.example',
  ]) {
    test(`${JSON.stringify(given.slice(0, 50))} is refused`, async () => {
      await assert.rejects(fixture.order({ email: given }), isProblem('invalid_parameter'))
      assert.equal(await ordersCreated(), 0)
    })
  }
})
