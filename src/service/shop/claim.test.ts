import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { isProblem } from '../../../test/support/problem.ts'
import { secretHash } from '../../core/id.ts'
import { isWellFormedKey } from '../../core/key.ts'
import { CLAIM_MS, type Purchase, settle } from '../../core/purchase.ts'
import { openShopFixture, type ShopFixture } from '../testing/shop.ts'
import type { Checkout } from './checkout.ts'
import { claimKey, findOrder, type ViewDeps, viewOrder } from './order.ts'
import { type Outcome, payFake } from './pay-fake.ts'

let fixture: ShopFixture
beforeAll(async () => {
  fixture = await openShopFixture('fake')
})
afterAll(() => fixture.stop())

async function ordered(...outcomes: Outcome[]): Promise<Checkout> {
  const made = await fixture.order({ plan: 'business' })
  for (const outcome of outcomes) await payFake(fixture.deps, made.order.id, outcome)
  return made
}

const claimOf = ({ order, claimSecret }: Checkout) => claimKey(fixture.deps, order.id, claimSecret)
const viewOf = async ({ order }: Checkout, deps: ViewDeps = fixture.deps) =>
  await viewOrder(deps, await fixture.read(order.id))
const holderOf = (secret: string) => fixture.shop.findKey(secretHash(secret), fixture.deps.now())

function isStopped(words: RegExp) {
  return (error: Error) => {
    assert.match(error.message, words)
    return isProblem('order_stopped')(error)
  }
}

test('a paid order gives a key of its plan', async () => {
  const { order, key, secret } = await claimOf(await ordered('pay'))
  assert.ok(isWellFormedKey(secret))
  assert.ok(secret.startsWith(order.keyPrefix))
  assert.deepEqual(await holderOf(secret), key)
  assert.deepEqual([key.id, key.maxRequests, key.maxPerDay], [order.keyId, 100_000, 1_000])
  assert.deepEqual(key.expiresAt, order.paidUntil)
})

test('within a day a new key takes the place of the former, later none is shown', async () => {
  const made = await ordered('pay')
  const { secret: first } = await claimOf(made)
  fixture.pass(CLAIM_MS - 1)
  const { secret: second, order } = await claimOf(made)
  assert.equal(await holderOf(first), undefined)
  assert.equal((await holderOf(second))?.id, order.keyId)
  assert.ok((await viewOf(made)).claimable)
  fixture.pass(1)
  await assert.rejects(claimOf(made), isProblem('already_claimed'))
  assert.ok(!(await viewOf(made)).claimable)
  assert.equal((await holderOf(second))?.id, order.keyId)
})

test('fifty claims at once leave one key that opens', async () => {
  const made = await ordered('pay')
  const claims = await Promise.all(Array.from({ length: 50 }, () => claimOf(made)))
  const held = await Promise.all(claims.map(({ secret }) => holderOf(secret)))
  assert.equal(held.filter((key) => key !== undefined).length, 1)
})

for (const [name, outcomes, words] of [
  ['is open', [], /Complete the payment/],
  ['is under way', ['later'], /^Wait/],
  ['was declined', ['decline'], /failed/],
  ['was promised and did not come', ['later', 'decline'], /failed/],
] as const) {
  test(`an order that ${name} gives no key, and says why`, async () => {
    const made = await ordered(...outcomes)
    await assert.rejects(claimOf(made), (error: Error) => {
      assert.match(error.message, words)
      return isProblem('order_unpaid')(error)
    })
    assert.equal(await fixture.shop.readKey(made.order.keyId, fixture.deps.now()), undefined)
  })
}

test('money that was promised and came gives a key', async () => {
  const made = await ordered('later', 'pay')
  const { secret } = await claimOf(made)
  assert.equal((await holderOf(secret))?.state, 'active')
})

test('what is paid stays paid, whatever is clicked afterwards', async () => {
  const made = await ordered('pay', 'decline', 'later', 'pay')
  const order = await fixture.read(made.order.id)
  assert.deepEqual([order.state, order.payments], ['paid', 1])
})

test('fifty clicks at once pay once', async () => {
  const made = await ordered()
  const { id } = made.order
  await Promise.all(Array.from({ length: 50 }, () => payFake(fixture.deps, id, 'pay')))
  assert.equal((await fixture.read(id)).payments, 1)
})

test('a revoked key is not minted anew, and nobody is told to claim it', async () => {
  const made = await ordered('pay')
  const { secret } = await claimOf(made)
  await fixture.shop.revokeKey(made.order.keyId)
  await assert.rejects(claimOf(made), isStopped(/revoked/))
  const { claimable, next } = await viewOf(made)
  assert.equal(claimable, false)
  assert.match(next, /revoked/)
  assert.notEqual((await holderOf(secret))?.state, 'active')
})

for (const [state, gone, words] of [
  ['refunded', { returned: 'fully' }, /refunded/],
  ['disputed', { disputed: 'open' }, /disputed/],
] as const) {
  test(`the key of a ${state} order is not minted, and nobody is told to claim it`, async () => {
    const made = await ordered('pay')
    const { revision, plan } = await fixture.read(made.order.id)
    const payment = {
      ref: 'p',
      paidAt: fixture.deps.now(),
      returned: 'no',
      disputed: 'no',
    } as const
    await fixture.shop.settlePurchase({
      orderId: made.order.id,
      revision,
      settlement: settle(plan, {
        state: 'paid',
        payments: [{ ...payment, ...gone }],
        renewal: 'none',
        subscriptionRef: undefined,
      }),
      event: undefined,
      now: fixture.deps.now(),
    })
    await assert.rejects(claimOf(made), isStopped(words))
    const { claimable, next } = await viewOf(made)
    assert.equal(claimable, false)
    assert.match(next, words)
  })
}

describe('an order of another mode than today’s', () => {
  const other = () => ({ ...fixture.deps, pay: { ...fixture.deps.pay, mode: 'live' as const } })

  test('gives no key while it is the other’s turn, and says so', async () => {
    const made = await ordered('pay')
    const attempt = claimKey(other(), made.order.id, made.claimSecret)
    await assert.rejects(attempt, isStopped(/test/))
    const { claimable, next } = await viewOf(made, other())
    assert.equal(claimable, false)
    assert.match(next, /test/)
    assert.equal((await fixture.read(made.order.id)).claimedAt, undefined)
    await claimOf(made)
  })

  for (const [name, today] of [
    ['mode', { mode: 'live' }],
    ['provider', { provider: 'stripe' }],
  ] as const) {
    test(`is not to be paid: no message of another ${name} is heard`, async () => {
      const made = await ordered()
      assert.ok((await viewOf(made)).payUrl)
      const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...today } }
      const { payUrl, next } = await viewOf(made, deps)
      assert.equal(payUrl, undefined)
      assert.doesNotMatch(next, /^Pay/)
    })
  }
})

describe('strangers', () => {
  test('hear the same of a wrong secret and of an order that never was', async () => {
    const { order, claimSecret } = await ordered('pay')
    const other = await ordered('pay')
    const attempts = [
      findOrder(fixture.deps, order.id, other.claimSecret),
      findOrder(fixture.deps, `ord_${'0'.repeat(22)}`, claimSecret),
      findOrder(fixture.deps, order.id, ''),
      findOrder(fixture.deps, "' or 1=1 --", claimSecret),
      claimKey(fixture.deps, order.id, other.claimSecret),
      claimKey(fixture.deps, order.id, secretHash(claimSecret)),
    ]
    const heard = await Promise.all(
      attempts.map((attempt) =>
        attempt.then(
          () => 'opened',
          (error: Error) => error.message,
        ),
      ),
    )
    assert.equal(new Set(heard).size, 1)
    assert.notEqual(heard[0], 'opened')
    assert.equal((await fixture.read(order.id)).claimedAt, undefined)
  })
})

test('each state has its next step', async () => {
  const { order } = await ordered('pay')
  const paid = await fixture.read(order.id)
  const now = fixture.deps.now()
  const stepOf = async (change: Partial<Purchase>) =>
    (await viewOrder(fixture.deps, { ...paid, ...change })).next
  const states = ['open', 'pending', 'paid', 'failed', 'expired', 'refunded', 'disputed'] as const
  const steps = await Promise.all(states.map((state) => stepOf({ state })))
  assert.equal(new Set(steps).size, states.length)
  assert.match(await stepOf({ claimedAt: now }), /issues a new key/)
  assert.match(await stepOf({ claimedAt: new Date(now.getTime() - CLAIM_MS) }), /not shown/)
})

test('another provider’s order is not paid by a click', async () => {
  const { order } = await ordered()
  const pay = { ...fixture.deps.pay, provider: 'stripe' as const }
  await assert.rejects(payFake({ ...fixture.deps, pay }, order.id, 'pay'), isProblem('not_found'))
  assert.equal((await fixture.read(order.id)).state, 'open')
})
