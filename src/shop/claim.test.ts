import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isProblem } from '../../test/kit/http/problem.ts'
import { openShopFixture, type ShopFixture } from '../../test/kit/shop/shop.ts'
import { secretHash } from '../base/id.ts'
import { isWellFormedKey } from '../keys/rules.ts'
import type { Checkout } from './checkout.ts'
import { claimKey, findOrder, viewOrder } from './order.ts'
import { type Outcome, payFake } from './pay-fake.ts'
import { CLAIM_MS, type Order, settle } from './rules.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await openShopFixture('fake')
})
afterAll(() => fixture.stop())

async function placeOrder(...outcomes: Outcome[]): Promise<Checkout> {
  const placed = await fixture.order({ plan: 'business' })
  for (const outcome of outcomes) await payFake(fixture.deps, placed.order.id, outcome)
  return placed
}

const claimOf = ({ order, claimSecret }: Checkout) => claimKey(fixture.deps, order.id, claimSecret)
const viewOf = async ({ order }: Checkout, deps = fixture.deps) =>
  await viewOrder(deps, await fixture.read(order.id))
const holderOf = (secret: string) => fixture.shop.findKey(secretHash(secret), fixture.deps.now())

function isStopped(message: RegExp) {
  return (error: Error) => {
    expect(error.message).toMatch(message)
    return isProblem('order_stopped')(error)
  }
}

test('a paid order gives a key of its plan', async () => {
  const { order, key, secret } = await claimOf(await placeOrder('pay'))
  expect(isWellFormedKey(secret)).toBeTruthy()
  expect(secret.startsWith(order.keyPrefix)).toBeTruthy()
  expect(await holderOf(secret)).toStrictEqual(key)
  expect(key).toMatchObject({ id: order.keyId, maxRequests: 100_000, maxPerDay: 1_000 })
  expect(key.maxDomains).toBe(5)
  expect(key.expiresAt).toStrictEqual(order.paidUntil)
})

test('a claim repeated within a day replaces the key, a later one is refused', async () => {
  const placed = await placeOrder('pay')
  const { secret: first } = await claimOf(placed)
  fixture.pass(CLAIM_MS - 1)
  const { secret: second, order } = await claimOf(placed)
  expect(await holderOf(first)).toBeUndefined()
  expect((await holderOf(second))?.id).toBe(order.keyId)
  expect((await viewOf(placed)).claimable).toBeTruthy()
  fixture.pass(1)
  await expect(claimOf(placed)).rejects.toSatisfy(isProblem('already_claimed'))
  expect((await viewOf(placed)).claimable).toBeFalsy()
  expect((await holderOf(second))?.id).toBe(order.keyId)
})

test('fifty concurrent claims leave one valid key', async () => {
  const placed = await placeOrder('pay')
  const claims = await Promise.all(Array.from({ length: 50 }, () => claimOf(placed)))
  const holders = await Promise.all(claims.map(({ secret }) => holderOf(secret)))
  expect(holders.filter((key) => key !== undefined).length).toBe(1)
})

for (const [name, outcomes, expected] of [
  ['is open', [], /Complete the payment/],
  ['is pending', ['later'], /pending/],
  ['was declined', ['decline'], /failed/],
  ['was pending and failed', ['later', 'decline'], /failed/],
] as const) {
  test(`an order that ${name} gives no key, and the error says why`, async () => {
    const placed = await placeOrder(...outcomes)
    await expect(claimOf(placed)).rejects.toSatisfy((error: Error) => {
      expect(error.message).toMatch(expected)
      return isProblem('order_unpaid')(error)
    })
    expect(await fixture.shop.readKey(placed.order.keyId, fixture.deps.now())).toBeUndefined()
  })
}

test('a pending payment that succeeds gives a key', async () => {
  const placed = await placeOrder('later', 'pay')
  const { secret } = await claimOf(placed)
  expect((await holderOf(secret))?.state).toBe('active')
})

test('a paid order stays paid, whatever the fake provider reports later', async () => {
  const placed = await placeOrder('pay', 'decline', 'later', 'pay')
  const order = await fixture.read(placed.order.id)
  expect([order.state, order.payments]).toStrictEqual(['paid', 1])
})

test('fifty concurrent payments count once', async () => {
  const placed = await placeOrder()
  const { id } = placed.order
  await Promise.all(Array.from({ length: 50 }, () => payFake(fixture.deps, id, 'pay')))
  expect((await fixture.read(id)).payments).toBe(1)
})

test('a revoked key is not issued again, and the order is not claimable', async () => {
  const placed = await placeOrder('pay')
  const { secret } = await claimOf(placed)
  await fixture.shop.revokeKey(placed.order.keyId)
  await expect(claimOf(placed)).rejects.toSatisfy(isStopped(/revoked/))
  const { claimable, next } = await viewOf(placed)
  expect(claimable).toBe(false)
  expect(next).toMatch(/revoked/)
  expect((await holderOf(secret))?.state).not.toBe('active')
})

for (const [state, reversal, expected] of [
  ['refunded', { refunded: 'fully' }, /refunded/],
  ['disputed', { disputed: 'open' }, /disputed/],
] as const) {
  test(`the key of a ${state} order is not issued, and the order is not claimable`, async () => {
    const placed = await placeOrder('pay')
    const { revision, plan } = await fixture.read(placed.order.id)
    const payment = {
      ref: 'p',
      paidAt: fixture.deps.now(),
      refunded: 'no',
      disputed: 'no',
    } as const
    await fixture.shop.applySettlement({
      orderId: placed.order.id,
      revision,
      settlement: settle(plan, {
        state: 'paid',
        payments: [{ ...payment, ...reversal }],
        renewal: 'none',
        subscriptionRef: undefined,
      }),
      event: undefined,
      now: fixture.deps.now(),
    })
    await expect(claimOf(placed)).rejects.toSatisfy(isStopped(expected))
    const { claimable, next } = await viewOf(placed)
    expect(claimable).toBe(false)
    expect(next).toMatch(expected)
  })
}

describe('an order of another mode than the current one', () => {
  const other = () => ({ ...fixture.deps, pay: { ...fixture.deps.pay, mode: 'live' as const } })

  test('gives no key in that mode, and the error says so', async () => {
    const placed = await placeOrder('pay')
    const attempt = claimKey(other(), placed.order.id, placed.claimSecret)
    await expect(attempt).rejects.toSatisfy(isStopped(/test/))
    const { claimable, next } = await viewOf(placed, other())
    expect(claimable).toBe(false)
    expect(next).toMatch(/test/)
    expect((await fixture.read(placed.order.id)).claimedAt).toBeUndefined()
    await claimOf(placed)
  })

  for (const [name, currentPay] of [
    ['mode', { mode: 'live' }],
    ['provider', { provider: 'stripe' }],
  ] as const) {
    test(`cannot be paid, because events of another ${name} are not processed`, async () => {
      const placed = await placeOrder()
      expect((await viewOf(placed)).payUrl).toBeTruthy()
      const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...currentPay } }
      const { payUrl, next } = await viewOf(placed, deps)
      expect(payUrl).toBeUndefined()
      expect(next).not.toMatch(/^Pay/)
    })
  }
})

describe('an unauthorized client', () => {
  test('gets the same error for a wrong secret and for an unknown order', async () => {
    const { order, claimSecret } = await placeOrder('pay')
    const other = await placeOrder('pay')
    const attempts = [
      findOrder(fixture.deps, order.id, other.claimSecret),
      findOrder(fixture.deps, `ord_${'0'.repeat(22)}`, claimSecret),
      findOrder(fixture.deps, order.id, ''),
      findOrder(fixture.deps, "' or 1=1 --", claimSecret),
      claimKey(fixture.deps, order.id, other.claimSecret),
      claimKey(fixture.deps, order.id, secretHash(claimSecret)),
    ]
    const messages = await Promise.all(
      attempts.map((attempt) =>
        attempt.then(
          () => 'opened',
          (error: Error) => error.message,
        ),
      ),
    )
    expect(new Set(messages).size).toBe(1)
    expect(messages[0]).not.toBe('opened')
    expect((await fixture.read(order.id)).claimedAt).toBeUndefined()
  })
})

test('each state has its own next step', async () => {
  const { order } = await placeOrder('pay')
  const paid = await fixture.read(order.id)
  const now = fixture.deps.now()
  const stepOf = async (change: Partial<Order>) =>
    (await viewOrder(fixture.deps, { ...paid, ...change })).next
  const states = ['open', 'pending', 'paid', 'failed', 'expired', 'refunded', 'disputed'] as const
  const steps = await Promise.all(states.map((state) => stepOf({ state })))
  expect(new Set(steps).size).toBe(states.length)
  expect(await stepOf({ claimedAt: now })).toMatch(/issues a new key/)
  expect(await stepOf({ claimedAt: new Date(now.getTime() - CLAIM_MS) })).toMatch(
    /cannot be shown again/,
  )
})

test('an order of another provider cannot be paid through the fake one', async () => {
  const { order } = await placeOrder()
  const pay = { ...fixture.deps.pay, provider: 'stripe' as const }
  await expect(payFake({ ...fixture.deps, pay }, order.id, 'pay')).rejects.toSatisfy(
    isProblem('not_found'),
  )
  expect((await fixture.read(order.id)).state).toBe('open')
})
