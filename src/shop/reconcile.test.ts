import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { isProblem } from '../../test/support/problem.ts'
import { reconcileOnce, runReconcile } from './reconcile.ts'
import { openShopFixture, type ShopFixture } from './testing/shop.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let fixture: ShopFixture
beforeEach(async () => {
  fixture = await openShopFixture()
})
afterEach(() => fixture.stop())

async function placeOrder(plan = 'starter') {
  const { order } = await fixture.order({ plan })
  const { checkoutRef: ref = '' } = await fixture.read(order.id)
  return { id: order.id, ref }
}
const stateOf = async (id: string) => (await fixture.read(id)).state

test('a payment without a webhook is found', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.pay(ref)
  assert.equal(await reconcileOnce(fixture.deps), true)
  assert.equal(await stateOf(id), 'paid')
})

test('each run starts ten minutes before the end of the previous one', async () => {
  await reconcileOnce(fixture.deps)
  const first = fixture.deps.now()
  assert.deepEqual(await fixture.shop.readReconciled('stripe'), first)
  fixture.pass(3 * HOUR)
  await reconcileOnce(fixture.deps)
  const lastRequest = fixture.stripe.requests.filter(({ path }) => path === '/v1/events').at(-1)
  const since = Number(new URLSearchParams(lastRequest?.params).get('created[gte]'))
  assert.equal(since * 1000, first.getTime() - 10 * MINUTE)
})

test('the first run covers one day', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.pay(ref)
  fixture.pass(23 * HOUR)
  await reconcileOnce(fixture.deps)
  assert.equal(await stateOf(id), 'paid')
})

test('an open order is checked even if it has no recent event', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  await reconcileOnce(fixture.deps)
  assert.equal(await stateOf(id), 'expired')
})

test('an open order is checked even if there are a thousand newer ones', async () => {
  const { id, ref } = await placeOrder()
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

test('an order open for more than a month is not checked', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(36 * 24 * HOUR)
  assert.equal(await reconcileOnce(fixture.deps), true)
  assert.equal(await stateOf(id), 'open')
})

test('an order created a moment ago is not checked', async () => {
  await placeOrder()
  const requestsBefore = fixture.stripe.requests.length
  await reconcileOnce(fixture.deps)
  const paths = fixture.stripe.requests.slice(requestsBefore).map(({ path }) => path)
  assert.deepEqual(paths, ['/v1/events'])
})

test('an order that cannot be settled does not delay others, and is retried', async () => {
  const [bad, good] = [await placeOrder(), await placeOrder()]
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

test('an event that Stripe cannot assign to an order does not delay others', async () => {
  const [bad, good] = [await placeOrder(), await placeOrder()]
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

test('an event that was processed before causes no further request', async () => {
  const { ref } = await placeOrder()
  fixture.stripe.pay(ref)
  fixture.stripe.refund(fixture.stripe.chargesOf(ref)[0] ?? '')
  await reconcileOnce(fixture.deps)
  const requestsBefore = fixture.stripe.requests.length
  await reconcileOnce(fixture.deps)
  const paths = fixture.stripe.requests.slice(requestsBefore).map(({ path }) => path)
  assert.deepEqual(paths, ['/v1/events'])
})

test('open orders are checked even if the events cannot be listed', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  fixture.stripe.broken = '/v1/events'
  await assert.rejects(reconcileOnce(fixture.deps), isProblem('payment_unavailable'))
  assert.equal(await stateOf(id), 'expired')
})

test('during an outage of Stripe no time is marked as reconciled', async () => {
  fixture.stripe.outage = 'error'
  await assert.rejects(reconcileOnce(fixture.deps), isProblem('payment_unavailable'))
  assert.equal(await fixture.shop.readReconciled('stripe'), undefined)
})

test('the loop survives an outage and ends when aborted', async () => {
  fixture.stripe.outage = 'error'
  const end = new AbortController()
  const loop = runReconcile(
    {
      ...fixture.deps,
      log: {
        warn() {},
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

test('a provider without a remote API causes no request', async () => {
  const pay = { ...fixture.deps.pay, provider: 'fake' as const, remote: undefined }
  assert.equal(await reconcileOnce({ ...fixture.deps, pay }), true)
  assert.deepEqual(fixture.stripe.requests, [])
})
