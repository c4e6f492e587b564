import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, test } from 'vitest'
import { isProblem } from '../../test/support/problem.ts'
import type { RemoteProvider } from './pay/provider.ts'
import { handleWebhook, processNotice, settleOrder } from './settle-order.ts'
import { openShopFixture, type ShopFixture } from './testing/shop.ts'

let fixture: ShopFixture
let remote: RemoteProvider
beforeAll(async () => {
  fixture = await openShopFixture()
  assert.ok(fixture.deps.pay.remote)
  remote = fixture.deps.pay.remote
})
afterAll(() => fixture.stop())
beforeEach(() => {
  fixture.stripe.outage = undefined
  fixture.stripe.take()
})

/** Delivers all events of Stripe since the last call, in this order. */
async function deliver(reorder = (events: ReturnType<typeof fixture.stripe.take>) => events) {
  for (const event of reorder(fixture.stripe.take())) {
    const { body, signature } = fixture.stripe.sign(event)
    await handleWebhook(fixture.deps, Buffer.from(body), signature)
  }
}

async function placeOrder(plan: string) {
  const { order } = await fixture.order({ plan })
  const { checkoutRef: ref = '' } = await fixture.read(order.id)
  return { ...order, ref }
}

test('a payment reported before its checkout id is stored is matched by the order id', async () => {
  const { order } = await fixture.order()
  const known = await fixture.read(order.id)
  assert.ok(known.checkoutRef)
  const early = {
    ...fixture.deps,
    shop: {
      ...fixture.shop,
      findPurchaseByRef: async () => undefined,
      readPurchase: async () => ({ ...(await fixture.read(order.id)), checkoutRef: undefined }),
    },
  }
  fixture.stripe.pay(known.checkoutRef)
  const [event] = fixture.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  assert.ok(event)
  const { body, signature } = fixture.stripe.sign(event)
  await handleWebhook(early, Buffer.from(body), signature)
  const paid = await fixture.read(order.id)
  assert.deepEqual([paid.state, paid.checkoutRef], ['paid', known.checkoutRef])
})

test('an order without a known checkout is left unchanged', async () => {
  const { id, ref } = await placeOrder('starter')
  fixture.stripe.pay(ref)
  await deliver()
  const withoutCheckout = {
    ...fixture.deps,
    shop: {
      ...fixture.shop,
      readPurchase: async () => ({ ...(await fixture.read(id)), checkoutRef: undefined }),
    },
  }
  const hint = { checkoutRef: undefined, subscriptionRef: undefined, orderId: id }
  await processNotice(withoutCheckout, { id: 'evt_nameless', type: 'charge.refunded', hint })
  assert.equal((await fixture.read(id)).state, 'paid')
  assert.ok(await fixture.shop.hasEvent('evt_nameless'))
})

for (const [name, pay] of [
  ['another provider', { provider: 'fake' as const }],
  ['the other mode', { mode: 'live' as const }],
] as const) {
  test(`an order sold through ${name} is ignored`, async () => {
    const { id, ref } = await placeOrder('starter')
    fixture.stripe.pay(ref)
    const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...pay } }
    const hint = { checkoutRef: ref, subscriptionRef: undefined, orderId: id }
    await processNotice(deps, {
      id: `evt_${name}`,
      type: 'checkout.session.completed',
      hint,
    })
    assert.equal((await fixture.read(id)).state, 'open')
    assert.ok(await fixture.shop.hasEvent(`evt_${name}`))
    await deliver()
  })
}

test('an event is not recorded while Stripe is unavailable, and applies when it is redelivered', async () => {
  const { id, ref } = await placeOrder('starter')
  fixture.stripe.pay(ref)
  const [event] = fixture.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  assert.ok(event)
  const { body, signature } = fixture.stripe.sign(event)
  fixture.stripe.outage = 'error'
  const delivery = handleWebhook(fixture.deps, Buffer.from(body), signature)
  await assert.rejects(delivery, isProblem('payment_unavailable'))
  assert.equal(await fixture.shop.hasEvent(event.id), false)
  fixture.stripe.outage = undefined
  await handleWebhook(fixture.deps, Buffer.from(body), signature)
  assert.equal((await fixture.read(id)).state, 'paid')
})

test('stale facts do not overwrite newer ones', async () => {
  const { id, ref } = await placeOrder('business')
  fixture.stripe.pay(ref)
  let raced = false
  const racing: RemoteProvider = {
    ...remote,
    async fetchFacts(order) {
      const facts = await remote.fetchFacts(order)
      if (raced) return facts
      raced = true
      // Meanwhile the next year is paid, reported and settled.
      fixture.stripe.renew(fixture.stripe.subscriptionOf(ref))
      await deliver()
      return facts
    },
  }
  await settleOrder({ ...fixture.deps, pay: { ...fixture.deps.pay, remote: racing } }, id)
  assert.equal((await fixture.read(id)).payments, 2)
})

test('an order that changes on every attempt is an error, so that the event is redelivered', async () => {
  const { id, ref } = await placeOrder('business')
  fixture.stripe.pay(ref)
  await deliver()
  const alwaysChanging: RemoteProvider = {
    ...remote,
    async fetchFacts(order) {
      const facts = await remote.fetchFacts(order)
      fixture.stripe.renew(fixture.stripe.subscriptionOf(ref))
      await deliver()
      return facts
    },
  }
  await assert.rejects(
    settleOrder({ ...fixture.deps, pay: { ...fixture.deps.pay, remote: alwaysChanging } }, id, {
      event: { id: 'evt_restless', type: 'invoice.paid', receivedAt: fixture.deps.now() },
    }),
    /changed 10 times/,
  )
  assert.equal(await fixture.shop.hasEvent('evt_restless'), false)
})

test('unchanged facts are not written', async () => {
  const { id } = await placeOrder('starter')
  const { revision } = await fixture.read(id)
  let written = 0
  const shop = {
    ...fixture.shop,
    settlePurchase: async (change: Parameters<typeof fixture.shop.settlePurchase>[0]) => {
      written += 1
      return await fixture.shop.settlePurchase(change)
    },
  }
  await settleOrder({ ...fixture.deps, shop }, id)
  assert.equal(written, 0)
  assert.equal((await fixture.read(id)).revision, revision)
})

test('without Stripe webhooks are not found', async () => {
  const pay = { ...fixture.deps.pay, provider: 'fake' as const, remote: undefined }
  const delivery = handleWebhook({ ...fixture.deps, pay }, Buffer.from('{}'), 't=1,v1=x')
  await assert.rejects(delivery, isProblem('not_found'))
})
