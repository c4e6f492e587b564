import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isProblem } from '../../test/kit/http/problem.ts'
import { openShopFixture, type ShopFixture, SITE } from '../../test/kit/shop/shop.ts'
import { KEY_RANDOM_BYTES } from '../keys/rules.ts'
import { checkout } from './checkout.ts'
import { findOrder } from './order.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await openShopFixture()
})
afterAll(() => fixture.stop())

let idempotency = { key: '', client: '192.0.2.1' }
let before: number
beforeEach(async () => {
  idempotency = { ...idempotency, key: `${idempotency.key}another key ` }
  before = (await fixture.shop.listOrders({ limit: 1_000 })).length
  fixture.stripe.outage = undefined
  fixture.logged.length = 0
})

/** Number of orders created by this test. */
async function ordersCreated(): Promise<number> {
  return (await fixture.shop.listOrders({ limit: 1_000 })).length - before
}

test('an order is stored with its plan, and found only with its claim secret', async () => {
  const { order, url, claimSecret } = await fixture.order({ plan: 'business' })
  expect(order.id).toMatch(/^ord_[A-Za-z0-9]{22}$/)
  expect(order.keyPrefix).toMatch(/^mf_test_[A-Za-z0-9]{4}$/)
  expect(order.plan.id).toBe('business')
  const [session = ''] = fixture.stripe.sessionsOf(order.id)
  const stored = await findOrder(fixture.deps, order.id, claimSecret)
  expect([stored.checkoutRef, stored.checkoutUrl, stored.state]).toStrictEqual([
    session,
    url,
    'open',
  ])
})

test('each order has its own claim secret', async () => {
  const [one, other] = [await fixture.order(), await fixture.order()]
  expect(one.claimSecret).not.toBe(other.claimSecret)
  expect(one.order.id).not.toBe(other.order.id)
  await expect(findOrder(fixture.deps, one.order.id, other.claimSecret)).rejects.toSatisfy(
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
    expect(new Set(responses).size).toBe(1)
    expect(await ordersCreated()).toBe(1)
    expect(fixture.stripe.sessionsOf(checkouts[0]?.order.id ?? '').length).toBe(1)
  })

  test('a repeated request causes no request to Stripe', async () => {
    await fixture.order({ idempotency })
    const requestsBefore = fixture.stripe.requests.length
    await fixture.order({ idempotency })
    expect(fixture.stripe.requests.length).toBe(requestsBefore)
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
      expect(first.order.id).not.toBe(second.order.id)
      expect(first.claimSecret).not.toBe(second.claimSecret)
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
      await expect(fixture.order({ ...request, ...other })).rejects.toSatisfy(
        isProblem('idempotency_conflict'),
      )
      expect((await fixture.order(request)).claimSecret).toBe(first.claimSecret)
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
      expect(second.order.id).not.toBe(first.order.id)
      const { provider, mode } = await fixture.read(second.order.id)
      expect({ provider, mode }).toStrictEqual({ provider: 'stripe', mode: 'test', ...currentPay })

      // If such an order is returned nevertheless, its checkout is not opened.
      const { shop } = deps
      const reusing = { ...deps, shop: { ...shop, addOrder: async () => first.order } }
      await expect(checkout(reusing, request)).rejects.toSatisfy(isProblem('idempotency_conflict'))
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
    expect(second.order.id).toBe(first.order.id)
    expect(second.claimSecret).not.toBe(first.claimSecret)
    expect((await checkout(fixture.deps, request)).claimSecret).toBe(first.claimSecret)
  })

  test('two orders of the same client and key have different secrets', async () => {
    const first = await fixture.order({ idempotency })
    const pay = { ...fixture.deps.pay, mode: 'live' as const }
    const request = { plan: 'starter', email: undefined, idempotency, baseUrl: SITE }
    const second = await checkout({ ...fixture.deps, pay }, request)
    expect(second.claimSecret).not.toBe(first.claimSecret)
  })

  test('a request repeated after a provider error continues with the same order', async () => {
    fixture.stripe.outage = 'error'
    await expect(fixture.order({ idempotency })).rejects.toSatisfy(isProblem('payment_unavailable'))
    expect(await ordersCreated()).toBe(1)
    fixture.stripe.outage = undefined
    const { order, url } = await fixture.order({ idempotency })
    expect((await fixture.read(order.id)).checkoutUrl).toBe(url)
    expect(await ordersCreated()).toBe(1)
  })
})

test('an error of the provider is logged without its secret key', async () => {
  fixture.stripe.outage = 'error'
  await expect(fixture.order()).rejects.toSatisfy(isProblem('payment_unavailable'))
  const [line] = fixture.logged
  expect(line?.facts['err'] instanceof Error ? line.facts['err'].message : '').toMatch(/^Stripe: /)
  const logged = fixture.logged.map(({ facts }) => String(facts['err'])).join()
  expect(logged).not.toContain(fixture.stripe.secretKey)
})

test('an unknown plan is refused with the available names', async () => {
  await expect(fixture.order({ plan: 'gold' })).rejects.toSatisfy((error: Error) => {
    expect(isProblem('invalid_parameter')(error)).toBeTruthy()
    expect(error.message).toMatch(/starter, business/)
    return true
  })
  expect(await ordersCreated()).toBe(0)
})

test('with manual payments checkout is not found', async () => {
  const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, provider: 'manual' as const } }
  const request = { plan: 'gold', email: undefined, idempotency: undefined, baseUrl: 'http://here' }
  await expect(checkout(deps, request)).rejects.toSatisfy(isProblem('not_found'))
  expect(await ordersCreated()).toBe(0)
})

describe('email address of the buyer', () => {
  for (const [given, stored] of [
    ['ann@buyer.example', 'ann@buyer.example'],
    ["Ann.O'Neil+mail@Buyer.Example", "Ann.O'Neil+mail@buyer.example"],
    ['ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ] as const) {
    test(`${given} is accepted`, async () => {
      expect((await fixture.order({ email: given })).order.email).toBe(stored)
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
      await expect(fixture.order({ email: given })).rejects.toSatisfy(
        isProblem('invalid_parameter'),
      )
      expect(await ordersCreated()).toBe(0)
    })
  }
})
