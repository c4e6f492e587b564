import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { isProblem } from '../../../test/support/problem.ts'
import { openShopFixture, type ShopFixture } from '../testing/shop.ts'
import { reconcileOnce, runReconcile } from './reconcile.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let fixture: ShopFixture
beforeEach(async () => {
  fixture = await openShopFixture()
})
afterEach(() => fixture.stop())

async function ordered(plan = 'starter') {
  const { order } = await fixture.order({ plan })
  const { checkoutRef: ref = '' } = await fixture.read(order.id)
  return { id: order.id, ref }
}
const stateOf = async (id: string) => (await fixture.read(id)).state

test('a payment that nobody told of is found', async () => {
  const { id, ref } = await ordered()
  fixture.stripe.pay(ref)
  assert.equal(await reconcileOnce(fixture.deps), true)
  assert.equal(await stateOf(id), 'paid')
})

test('each look begins where the last one ended, and a little before', async () => {
  await reconcileOnce(fixture.deps)
  const first = fixture.deps.now()
  assert.deepEqual(await fixture.shop.readReconciled('stripe'), first)
  fixture.pass(3 * HOUR)
  await reconcileOnce(fixture.deps)
  const asked = fixture.stripe.requests.filter(({ path }) => path === '/v1/events').at(-1)
  const since = Number(new URLSearchParams(asked?.params).get('created[gte]'))
  assert.equal(since * 1000, first.getTime() - 10 * MINUTE)
})

test('the first look goes back a day', async () => {
  const { id, ref } = await ordered()
  fixture.stripe.pay(ref)
  fixture.pass(23 * HOUR)
  await reconcileOnce(fixture.deps)
  assert.equal(await stateOf(id), 'paid')
})

test('an order that waits, and of which no message tells any more, is asked about', async () => {
  const { id, ref } = await ordered()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  await reconcileOnce(fixture.deps)
  assert.equal(await stateOf(id), 'expired')
})

test('a thousand newer orders do not hide it', async () => {
  const { id, ref } = await ordered()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  const { plan, provider, mode } = await fixture.read(id)
  await Promise.all(
    Array.from({ length: 1_000 }, (_, at) =>
      fixture.shop.addPurchase({
        id: `ord_${at}`,
        provider,
        mode,
        plan,
        email: undefined,
        createdAt: fixture.deps.now(),
        keyId: `key_${at}`,
        keyPrefix: 'mf_test_abcd',
        claimHash: '',
        idempotencyHash: undefined,
      }),
    ),
  )
  await reconcileOnce(fixture.deps)
  assert.equal(await stateOf(id), 'expired')
})

test('one that has waited for more than a month is not', async () => {
  const { id, ref } = await ordered()
  fixture.stripe.expire(ref)
  fixture.pass(36 * 24 * HOUR)
  assert.equal(await reconcileOnce(fixture.deps), true)
  assert.equal(await stateOf(id), 'open')
})

test('one that was ordered a moment ago is not', async () => {
  await ordered()
  const asked = fixture.stripe.requests.length
  await reconcileOnce(fixture.deps)
  const paths = fixture.stripe.requests.slice(asked).map(({ path }) => path)
  assert.deepEqual(paths, ['/v1/events'])
})

test('one that cannot be settled keeps no other waiting, and is tried again', async () => {
  const [bad, good] = [await ordered(), await ordered()]
  fixture.stripe.pay(bad.ref)
  fixture.stripe.pay(good.ref)
  await fixture.shop.saveCheckout(bad.id, { ref: 'cs_nowhere', url: 'https://nowhere.example' })
  assert.equal(await reconcileOnce(fixture.deps), false)
  assert.deepEqual([await stateOf(bad.id), await stateOf(good.id)], ['open', 'paid'])
  assert.equal(await fixture.shop.readReconciled('stripe'), undefined)
  assert.ok(fixture.logged.some(({ sentence }) => /settling a payment failed/.test(sentence)))

  await fixture.shop.saveCheckout(bad.id, { ref: bad.ref, url: 'https://checkout.example' })
  assert.equal(await reconcileOnce(fixture.deps), true)
  assert.equal(await stateOf(bad.id), 'paid')
})

test('an event of which Stripe cannot say whose it is keeps no other waiting', async () => {
  const [bad, good] = [await ordered(), await ordered()]
  fixture.stripe.pay(bad.ref)
  fixture.stripe.refund(fixture.stripe.chargesOf(bad.ref)[0] ?? '')
  fixture.stripe.pay(good.ref)
  fixture.stripe.broken = '/v1/payment_intents/'
  assert.equal(await reconcileOnce(fixture.deps), false)
  assert.equal(await stateOf(good.id), 'paid')
  assert.equal(await fixture.shop.readReconciled('stripe'), undefined)
  assert.deepEqual(
    fixture.logged.map(({ facts }) => facts['type']),
    ['refund.created'],
  )

  fixture.stripe.broken = undefined
  assert.equal(await reconcileOnce(fixture.deps), true)
  assert.deepEqual(await fixture.shop.readReconciled('stripe'), fixture.deps.now())
})

test('an event that was heard before costs no question', async () => {
  const { ref } = await ordered()
  fixture.stripe.pay(ref)
  fixture.stripe.refund(fixture.stripe.chargesOf(ref)[0] ?? '')
  await reconcileOnce(fixture.deps)
  const asked = fixture.stripe.requests.length
  await reconcileOnce(fixture.deps)
  const paths = fixture.stripe.requests.slice(asked).map(({ path }) => path)
  assert.deepEqual(paths, ['/v1/events'])
})

test('an order that waits is asked about also when the events cannot be listed', async () => {
  const { id, ref } = await ordered()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  fixture.stripe.broken = '/v1/events'
  await assert.rejects(reconcileOnce(fixture.deps), isProblem('payment_unavailable'))
  assert.equal(await stateOf(id), 'expired')
})

test('while Stripe is away nothing is taken for heard', async () => {
  fixture.stripe.outage = 'error'
  await assert.rejects(reconcileOnce(fixture.deps), isProblem('payment_unavailable'))
  assert.equal(await fixture.shop.readReconciled('stripe'), undefined)
})

test('the loop survives an outage, and ends when it is told to', async () => {
  fixture.stripe.outage = 'error'
  const end = new AbortController()
  const loop = runReconcile(
    {
      ...fixture.deps,
      log: {
        error: (_facts, sentence) => {
          assert.match(sentence, /reading from the payment provider failed/)
          end.abort()
        },
      },
    },
    end.signal,
  )
  await loop
})

test('where the provider remembers nothing there is nothing to ask', async () => {
  const pay = { ...fixture.deps.pay, provider: 'fake' as const, remote: undefined }
  assert.equal(await reconcileOnce({ ...fixture.deps, pay }), true)
  assert.deepEqual(fixture.stripe.requests, [])
})
