import { afterEach, beforeEach, expect, test } from 'vitest'
import { isProblem } from '../../test/kit/http/problem.ts'
import { openShopFixture, type ShopFixture } from '../../test/kit/shop/shop.ts'
import { reconcileOnce, runReconcile } from './reconcile.ts'

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
  expect(await reconcileOnce(fixture.deps)).toBe(true)
  expect(await stateOf(id)).toBe('paid')
})

test('each run starts ten minutes before the end of the previous one', async () => {
  await reconcileOnce(fixture.deps)
  const first = fixture.deps.now()
  expect(await fixture.shop.readReconciled('stripe')).toStrictEqual(first)
  fixture.pass(3 * HOUR)
  await reconcileOnce(fixture.deps)
  const lastRequest = fixture.stripe.requests.filter(({ path }) => path === '/v1/events').at(-1)
  const since = Number(new URLSearchParams(lastRequest?.params).get('created[gte]'))
  expect(since * 1000).toBe(first.getTime() - 10 * MINUTE)
})

test('the first run covers one day', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.pay(ref)
  fixture.pass(23 * HOUR)
  await reconcileOnce(fixture.deps)
  expect(await stateOf(id)).toBe('paid')
})

test('an open order is checked even if it has no recent event', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  await reconcileOnce(fixture.deps)
  expect(await stateOf(id)).toBe('expired')
})

test('an open order is checked even if there are a thousand newer ones', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  const { plan, provider, mode } = await fixture.read(id)
  await Promise.all(
    Array.from({ length: 1_000 }, (_, at) =>
      fixture.shop.addOrder({
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
  expect(await stateOf(id)).toBe('expired')
})

test('an order open for more than a month is not checked', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(36 * 24 * HOUR)
  expect(await reconcileOnce(fixture.deps)).toBe(true)
  expect(await stateOf(id)).toBe('open')
})

test('an order created a moment ago is not checked', async () => {
  await placeOrder()
  const requestsBefore = fixture.stripe.requests.length
  await reconcileOnce(fixture.deps)
  const paths = fixture.stripe.requests.slice(requestsBefore).map(({ path }) => path)
  expect(paths).toStrictEqual(['/v1/events'])
})

test('an order that cannot be settled does not delay others, and is retried', async () => {
  const [bad, good] = [await placeOrder(), await placeOrder()]
  fixture.stripe.pay(bad.ref)
  fixture.stripe.pay(good.ref)
  await fixture.shop.saveCheckout(bad.id, { ref: 'cs_nowhere', url: 'https://nowhere.example' })
  expect(await reconcileOnce(fixture.deps)).toBe(false)
  expect([await stateOf(bad.id), await stateOf(good.id)]).toStrictEqual(['open', 'paid'])
  expect(await fixture.shop.readReconciled('stripe')).toBeUndefined()
  expect(
    fixture.logged.some(({ sentence }) => /settling a payment failed/.test(sentence)),
  ).toBeTruthy()

  await fixture.shop.saveCheckout(bad.id, { ref: bad.ref, url: 'https://checkout.example' })
  expect(await reconcileOnce(fixture.deps)).toBe(true)
  expect(await stateOf(bad.id)).toBe('paid')
})

test('an event that Stripe cannot assign to an order does not delay others', async () => {
  const [bad, good] = [await placeOrder(), await placeOrder()]
  fixture.stripe.pay(bad.ref)
  fixture.stripe.refund(fixture.stripe.chargesOf(bad.ref)[0] ?? '')
  fixture.stripe.pay(good.ref)
  fixture.stripe.broken = '/v1/payment_intents/'
  expect(await reconcileOnce(fixture.deps)).toBe(false)
  expect(await stateOf(good.id)).toBe('paid')
  expect(await fixture.shop.readReconciled('stripe')).toBeUndefined()
  expect(fixture.logged.map(({ facts }) => facts['type'])).toStrictEqual(['refund.created'])

  fixture.stripe.broken = undefined
  expect(await reconcileOnce(fixture.deps)).toBe(true)
  expect(await fixture.shop.readReconciled('stripe')).toStrictEqual(fixture.deps.now())
})

test('an event that was processed before causes no further request', async () => {
  const { ref } = await placeOrder()
  fixture.stripe.pay(ref)
  fixture.stripe.refund(fixture.stripe.chargesOf(ref)[0] ?? '')
  await reconcileOnce(fixture.deps)
  const requestsBefore = fixture.stripe.requests.length
  await reconcileOnce(fixture.deps)
  const paths = fixture.stripe.requests.slice(requestsBefore).map(({ path }) => path)
  expect(paths).toStrictEqual(['/v1/events'])
})

test('open orders are checked even if the events cannot be listed', async () => {
  const { id, ref } = await placeOrder()
  fixture.stripe.expire(ref)
  fixture.pass(49 * HOUR)
  fixture.stripe.broken = '/v1/events'
  await expect(reconcileOnce(fixture.deps)).rejects.toSatisfy(isProblem('payment_unavailable'))
  expect(await stateOf(id)).toBe('expired')
})

test('during an outage of Stripe no time is marked as reconciled', async () => {
  fixture.stripe.outage = 'error'
  await expect(reconcileOnce(fixture.deps)).rejects.toSatisfy(isProblem('payment_unavailable'))
  expect(await fixture.shop.readReconciled('stripe')).toBeUndefined()
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
          expect(sentence).toMatch(/reading from the payment provider failed/)
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
  expect(await reconcileOnce({ ...fixture.deps, pay })).toBe(true)
  expect(fixture.stripe.requests).toStrictEqual([])
})
