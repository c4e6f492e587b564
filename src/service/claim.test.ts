import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { isProblem } from '../../test/problem.ts'
import { secretHash } from '../core/id.ts'
import { isKeyText } from '../core/key.ts'
import { CLAIM_MS } from '../core/purchase.ts'
import type { Checkout } from './checkout.ts'
import { claim } from './claim.ts'
import { isClaimable, nextStep, orderOf } from './order.ts'
import { type Outcome, payFake } from './pay-fake.ts'
import { openShopScene, type ShopScene } from './testing/shop.ts'

let scene: ShopScene
beforeAll(async () => {
  scene = await openShopScene('fake')
})
afterAll(() => scene.stop())

async function ordered(...outcomes: Outcome[]): Promise<Checkout> {
  const made = await scene.order({ plan: 'business' })
  for (const outcome of outcomes) await payFake(scene.needs, made.order.id, outcome)
  return made
}

const claimOf = ({ order, claimSecret }: Checkout) => claim(scene.needs, order.id, claimSecret)
const holderOf = (secret: string) => scene.shop.findKey(secretHash(secret), scene.needs.now())

test('a paid order gives a key of its plan', async () => {
  const { order, key, secret } = await claimOf(await ordered('pay'))
  assert.ok(isKeyText(secret))
  assert.ok(secret.startsWith(order.keyPrefix))
  assert.deepEqual(await holderOf(secret), key)
  assert.deepEqual([key.id, key.maxRequests, key.maxPerDay], [order.keyId, 100_000, 1_000])
  assert.deepEqual(key.expiresAt, order.paidUntil)
})

test('within a day a new key takes the place of the former, later none is shown', async () => {
  const made = await ordered('pay')
  const { secret: first } = await claimOf(made)
  scene.pass(CLAIM_MS - 1)
  const { secret: second, order } = await claimOf(made)
  assert.equal(await holderOf(first), undefined)
  assert.equal((await holderOf(second))?.id, order.keyId)
  assert.ok(isClaimable(order, scene.needs.now()))
  scene.pass(1)
  await assert.rejects(claimOf(made), isProblem('already_claimed'))
  assert.ok(!isClaimable(order, scene.needs.now()))
  assert.equal((await holderOf(second))?.id, order.keyId)
})

test('fifty claims at once leave one key that opens', async () => {
  const made = await ordered('pay')
  const claims = await Promise.all(Array.from({ length: 50 }, () => claimOf(made)))
  const held = await Promise.all(claims.map(({ secret }) => holderOf(secret)))
  assert.equal(held.filter((key) => key !== undefined).length, 1)
})

for (const [name, outcomes, words] of [
  ['is open', [], /Pay at/],
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
    assert.equal(await scene.shop.readKey(made.order.keyId, scene.needs.now()), undefined)
  })
}

test('money that was promised and came gives a key', async () => {
  const made = await ordered('later', 'pay')
  const { secret } = await claimOf(made)
  assert.equal((await holderOf(secret))?.state, 'active')
})

test('what is paid stays paid, whatever is clicked afterwards', async () => {
  const made = await ordered('pay', 'decline', 'later', 'pay')
  const order = await scene.read(made.order.id)
  assert.deepEqual([order.state, order.payments], ['paid', 1])
})

test('fifty clicks at once pay once', async () => {
  const made = await ordered()
  const { id } = made.order
  await Promise.all(Array.from({ length: 50 }, () => payFake(scene.needs, id, 'pay')))
  assert.equal((await scene.read(id)).payments, 1)
})

test('a revoked key is not minted anew', async () => {
  const made = await ordered('pay')
  const { secret } = await claimOf(made)
  await scene.shop.revokeKey(made.order.keyId)
  await assert.rejects(claimOf(made), (error: Error) => {
    assert.match(error.message, /revoked/)
    return isProblem('order_unpaid')(error)
  })
  assert.notEqual((await holderOf(secret))?.state, 'active')
})

describe('strangers', () => {
  test('hear the same of a wrong secret and of an order that never was', async () => {
    const { order, claimSecret } = await ordered('pay')
    const other = await ordered('pay')
    const attempts = [
      orderOf(scene.needs, order.id, other.claimSecret),
      orderOf(scene.needs, `ord_${'0'.repeat(22)}`, claimSecret),
      orderOf(scene.needs, order.id, ''),
      orderOf(scene.needs, "' or 1=1 --", claimSecret),
      claim(scene.needs, order.id, other.claimSecret),
      claim(scene.needs, order.id, secretHash(claimSecret)),
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
    assert.equal((await scene.read(order.id)).claimedAt, undefined)
  })
})

test('each state has its next step', async () => {
  const { order } = await ordered('pay')
  const paid = await scene.read(order.id)
  const now = scene.needs.now()
  const states = ['open', 'pending', 'paid', 'failed', 'expired', 'refunded', 'disputed'] as const
  const steps = states.map((state) => nextStep({ ...paid, state }, now))
  assert.equal(new Set(steps).size, states.length)
  const claimedAt = now
  assert.match(nextStep({ ...paid, claimedAt }, now), /makes a new one/)
  assert.match(nextStep({ ...paid, claimedAt }, new Date(now.getTime() + CLAIM_MS)), /not shown/)
})

test('another provider’s order is not paid by a click', async () => {
  const { order } = await ordered()
  const pay = { ...scene.needs.pay, provider: 'stripe' as const }
  await assert.rejects(payFake({ ...scene.needs, pay }, order.id, 'pay'), isProblem('not_found'))
  assert.equal((await scene.read(order.id)).state, 'open')
})
