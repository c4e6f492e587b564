import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { isProblem } from '../../test/support/problem.ts'
import { secretHash } from '../base/id.ts'
import { isWellFormedKey } from '../keys/rules.ts'
import type { Checkout } from './checkout.ts'
import { claimKey, findOrder, viewOrder } from './order.ts'
import { type Outcome, payFake } from './pay-fake.ts'
import { CLAIM_MS, type Purchase, settle } from './rules.ts'
import { openShopFixture, type ShopFixture } from './testing/shop.ts'

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
    assert.match(error.message, message)
    return isProblem('order_stopped')(error)
  }
}

test('a paid order gives a key of its plan', async () => {
  const { order, key, secret } = await claimOf(await placeOrder('pay'))
  assert.ok(isWellFormedKey(secret))
  assert.ok(secret.startsWith(order.keyPrefix))
  assert.deepEqual(await holderOf(secret), key)
  assert.deepEqual([key.id, key.maxRequests, key.maxPerDay], [order.keyId, 100_000, 1_000])
  assert.deepEqual(key.expiresAt, order.paidUntil)
})

test('a claim repeated within a day replaces the key, a later one is refused', async () => {
  const placed = await placeOrder('pay')
  const { secret: first } = await claimOf(placed)
  fixture.pass(CLAIM_MS - 1)
  const { secret: second, order } = await claimOf(placed)
  assert.equal(await holderOf(first), undefined)
  assert.equal((await holderOf(second))?.id, order.keyId)
  assert.ok((await viewOf(placed)).claimable)
  fixture.pass(1)
  await assert.rejects(claimOf(placed), isProblem('already_claimed'))
  assert.ok(!(await viewOf(placed)).claimable)
  assert.equal((await holderOf(second))?.id, order.keyId)
})

test('fifty concurrent claims leave one valid key', async () => {
  const placed = await placeOrder('pay')
  const claims = await Promise.all(Array.from({ length: 50 }, () => claimOf(placed)))
  const holders = await Promise.all(claims.map(({ secret }) => holderOf(secret)))
  assert.equal(holders.filter((key) => key !== undefined).length, 1)
})

for (const [name, outcomes, expected] of [
  ['is open', [], /Complete the payment/],
  ['is pending', ['later'], /pending/],
  ['was declined', ['decline'], /failed/],
  ['was pending and failed', ['later', 'decline'], /failed/],
] as const) {
  test(`an order that ${name} gives no key, and the error says why`, async () => {
    const placed = await placeOrder(...outcomes)
    await assert.rejects(claimOf(placed), (error: Error) => {
      assert.match(error.message, expected)
      return isProblem('order_unpaid')(error)
    })
    assert.equal(await fixture.shop.readKey(placed.order.keyId, fixture.deps.now()), undefined)
  })
}

test('a pending payment that succeeds gives a key', async () => {
  const placed = await placeOrder('later', 'pay')
  const { secret } = await claimOf(placed)
  assert.equal((await holderOf(secret))?.state, 'active')
})

test('a paid order stays paid, whatever the fake provider reports later', async () => {
  const placed = await placeOrder('pay', 'decline', 'later', 'pay')
  const order = await fixture.read(placed.order.id)
  assert.deepEqual([order.state, order.payments], ['paid', 1])
})

test('fifty concurrent payments count once', async () => {
  const placed = await placeOrder()
  const { id } = placed.order
  await Promise.all(Array.from({ length: 50 }, () => payFake(fixture.deps, id, 'pay')))
  assert.equal((await fixture.read(id)).payments, 1)
})

test('a revoked key is not issued again, and the order is not claimable', async () => {
  const placed = await placeOrder('pay')
  const { secret } = await claimOf(placed)
  await fixture.shop.revokeKey(placed.order.keyId)
  await assert.rejects(claimOf(placed), isStopped(/revoked/))
  const { claimable, next } = await viewOf(placed)
  assert.equal(claimable, false)
  assert.match(next, /revoked/)
  assert.notEqual((await holderOf(secret))?.state, 'active')
})

for (const [state, reversal, expected] of [
  ['refunded', { returned: 'fully' }, /refunded/],
  ['disputed', { disputed: 'open' }, /disputed/],
] as const) {
  test(`the key of a ${state} order is not issued, and the order is not claimable`, async () => {
    const placed = await placeOrder('pay')
    const { revision, plan } = await fixture.read(placed.order.id)
    const payment = {
      ref: 'p',
      paidAt: fixture.deps.now(),
      returned: 'no',
      disputed: 'no',
    } as const
    await fixture.shop.settlePurchase({
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
    await assert.rejects(claimOf(placed), isStopped(expected))
    const { claimable, next } = await viewOf(placed)
    assert.equal(claimable, false)
    assert.match(next, expected)
  })
}

describe('an order of another mode than the current one', () => {
  const other = () => ({ ...fixture.deps, pay: { ...fixture.deps.pay, mode: 'live' as const } })

  test('gives no key in that mode, and the error says so', async () => {
    const placed = await placeOrder('pay')
    const attempt = claimKey(other(), placed.order.id, placed.claimSecret)
    await assert.rejects(attempt, isStopped(/test/))
    const { claimable, next } = await viewOf(placed, other())
    assert.equal(claimable, false)
    assert.match(next, /test/)
    assert.equal((await fixture.read(placed.order.id)).claimedAt, undefined)
    await claimOf(placed)
  })

  for (const [name, currentPay] of [
    ['mode', { mode: 'live' }],
    ['provider', { provider: 'stripe' }],
  ] as const) {
    test(`cannot be paid, because events of another ${name} are not processed`, async () => {
      const placed = await placeOrder()
      assert.ok((await viewOf(placed)).payUrl)
      const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...currentPay } }
      const { payUrl, next } = await viewOf(placed, deps)
      assert.equal(payUrl, undefined)
      assert.doesNotMatch(next, /^Pay/)
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
    assert.equal(new Set(messages).size, 1)
    assert.notEqual(messages[0], 'opened')
    assert.equal((await fixture.read(order.id)).claimedAt, undefined)
  })
})

test('each state has its own next step', async () => {
  const { order } = await placeOrder('pay')
  const paid = await fixture.read(order.id)
  const now = fixture.deps.now()
  const stepOf = async (change: Partial<Purchase>) =>
    (await viewOrder(fixture.deps, { ...paid, ...change })).next
  const states = ['open', 'pending', 'paid', 'failed', 'expired', 'refunded', 'disputed'] as const
  const steps = await Promise.all(states.map((state) => stepOf({ state })))
  assert.equal(new Set(steps).size, states.length)
  assert.match(await stepOf({ claimedAt: now }), /issues a new key/)
  assert.match(
    await stepOf({ claimedAt: new Date(now.getTime() - CLAIM_MS) }),
    /cannot be shown again/,
  )
})

test('an order of another provider cannot be paid through the fake one', async () => {
  const { order } = await placeOrder()
  const pay = { ...fixture.deps.pay, provider: 'stripe' as const }
  await assert.rejects(payFake({ ...fixture.deps, pay }, order.id, 'pay'), isProblem('not_found'))
  assert.equal((await fixture.read(order.id)).state, 'open')
})
