import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { isProblem } from '../../../test/problem.ts'
import { reconcileForEver, reconcileOnce } from './reconcile.ts'
import { openShopScene, type ShopScene } from '../testing/shop.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

let scene: ShopScene
beforeEach(async () => {
  scene = await openShopScene()
})
afterEach(() => scene.stop())

async function ordered(plan = 'starter') {
  const { order } = await scene.order({ plan })
  const { checkoutRef: ref = '' } = await scene.read(order.id)
  return { id: order.id, ref }
}
const stateOf = async (id: string) => (await scene.read(id)).state

test('a payment that nobody told of is found', async () => {
  const { id, ref } = await ordered()
  scene.stripe.pay(ref)
  assert.equal(await reconcileOnce(scene.needs), true)
  assert.equal(await stateOf(id), 'paid')
})

test('each look begins where the last one ended, and a little before', async () => {
  await reconcileOnce(scene.needs)
  const first = scene.needs.now()
  assert.deepEqual(await scene.shop.readReconciled('stripe'), first)
  scene.pass(3 * HOUR)
  await reconcileOnce(scene.needs)
  const asked = scene.stripe.requests.filter(({ path }) => path === '/v1/events').at(-1)
  const since = Number(new URLSearchParams(asked?.params).get('created[gte]'))
  assert.equal(since * 1000, first.getTime() - 10 * MINUTE)
})

test('the first look goes back a day', async () => {
  const { id, ref } = await ordered()
  scene.stripe.pay(ref)
  scene.pass(23 * HOUR)
  await reconcileOnce(scene.needs)
  assert.equal(await stateOf(id), 'paid')
})

test('an order that waits, and of which no message tells any more, is asked about', async () => {
  const { id, ref } = await ordered()
  scene.stripe.expire(ref)
  scene.pass(49 * HOUR)
  await reconcileOnce(scene.needs)
  assert.equal(await stateOf(id), 'expired')
})

test('a thousand newer orders do not hide it', async () => {
  const { id, ref } = await ordered()
  scene.stripe.expire(ref)
  scene.pass(49 * HOUR)
  const { plan, provider, mode } = await scene.read(id)
  await Promise.all(
    Array.from({ length: 1_000 }, (_, at) =>
      scene.shop.addPurchase({
        id: `ord_${at}`,
        provider,
        mode,
        plan,
        email: undefined,
        createdAt: scene.needs.now(),
        keyId: `key_${at}`,
        keyPrefix: 'mf_test_abcd',
        claimHash: '',
        idempotencyHash: undefined,
      }),
    ),
  )
  await reconcileOnce(scene.needs)
  assert.equal(await stateOf(id), 'expired')
})

test('one that has waited for more than a month is not', async () => {
  const { id, ref } = await ordered()
  scene.stripe.expire(ref)
  scene.pass(36 * 24 * HOUR)
  assert.equal(await reconcileOnce(scene.needs), true)
  assert.equal(await stateOf(id), 'open')
})

test('one that was ordered a moment ago is not', async () => {
  await ordered()
  const asked = scene.stripe.requests.length
  await reconcileOnce(scene.needs)
  const paths = scene.stripe.requests.slice(asked).map(({ path }) => path)
  assert.deepEqual(paths, ['/v1/events'])
})

test('one that cannot be settled keeps no other waiting, and is tried again', async () => {
  const [bad, good] = [await ordered(), await ordered()]
  scene.stripe.pay(bad.ref)
  scene.stripe.pay(good.ref)
  await scene.shop.keepCheckout(bad.id, { ref: 'cs_nowhere', url: 'https://nowhere.example' })
  assert.equal(await reconcileOnce(scene.needs), false)
  assert.deepEqual([await stateOf(bad.id), await stateOf(good.id)], ['open', 'paid'])
  assert.equal(await scene.shop.readReconciled('stripe'), undefined)
  assert.ok(scene.logged.some(({ sentence }) => /could not be settled/.test(sentence)))

  await scene.shop.keepCheckout(bad.id, { ref: bad.ref, url: 'https://checkout.example' })
  assert.equal(await reconcileOnce(scene.needs), true)
  assert.equal(await stateOf(bad.id), 'paid')
})

test('an event of which Stripe cannot say whose it is keeps no other waiting', async () => {
  const [bad, good] = [await ordered(), await ordered()]
  scene.stripe.pay(bad.ref)
  scene.stripe.refund(scene.stripe.chargesOf(bad.ref)[0] ?? '')
  scene.stripe.pay(good.ref)
  scene.stripe.broken = '/v1/payment_intents/'
  assert.equal(await reconcileOnce(scene.needs), false)
  assert.equal(await stateOf(good.id), 'paid')
  assert.equal(await scene.shop.readReconciled('stripe'), undefined)
  assert.deepEqual(
    scene.logged.map(({ facts }) => facts['type']),
    ['refund.created'],
  )

  scene.stripe.broken = undefined
  assert.equal(await reconcileOnce(scene.needs), true)
  assert.deepEqual(await scene.shop.readReconciled('stripe'), scene.needs.now())
})

test('an event that was heard before costs no question', async () => {
  const { ref } = await ordered()
  scene.stripe.pay(ref)
  scene.stripe.refund(scene.stripe.chargesOf(ref)[0] ?? '')
  await reconcileOnce(scene.needs)
  const asked = scene.stripe.requests.length
  await reconcileOnce(scene.needs)
  const paths = scene.stripe.requests.slice(asked).map(({ path }) => path)
  assert.deepEqual(paths, ['/v1/events'])
})

test('an order that waits is asked about also when the events cannot be listed', async () => {
  const { id, ref } = await ordered()
  scene.stripe.expire(ref)
  scene.pass(49 * HOUR)
  scene.stripe.broken = '/v1/events'
  await assert.rejects(reconcileOnce(scene.needs), isProblem('payment_unavailable'))
  assert.equal(await stateOf(id), 'expired')
})

test('while Stripe is away nothing is taken for heard', async () => {
  scene.stripe.outage = 'error'
  await assert.rejects(reconcileOnce(scene.needs), isProblem('payment_unavailable'))
  assert.equal(await scene.shop.readReconciled('stripe'), undefined)
})

test('the loop survives an outage, and ends when it is told to', async () => {
  scene.stripe.outage = 'error'
  const end = new AbortController()
  const loop = reconcileForEver(
    {
      ...scene.needs,
      log: {
        error: (_facts, sentence) => {
          assert.match(sentence, /could not be asked/)
          end.abort()
        },
      },
    },
    end.signal,
  )
  await loop
})

test('where the provider remembers nothing there is nothing to ask', async () => {
  const pay = { ...scene.needs.pay, provider: 'fake' as const, book: undefined }
  assert.equal(await reconcileOnce({ ...scene.needs, pay }), true)
  assert.deepEqual(scene.stripe.requests, [])
})
