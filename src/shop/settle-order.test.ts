import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isProblem } from '../../test/kit/http/problem.ts'
import { openShopFixture, type ShopFixture } from '../../test/kit/shop/shop.ts'
import type { RemoteProvider } from './pay/provider.ts'
import { handleWebhook, processEvent, settleOrder } from './settle-order.ts'

let fixture: ShopFixture
let remote: RemoteProvider
beforeAll(async () => {
  fixture = await openShopFixture()
  expect.assert(fixture.deps.pay.remote)
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
  expect.assert(known.checkoutRef)
  const early = {
    ...fixture.deps,
    shop: {
      ...fixture.shop,
      findOrderByRef: async () => undefined,
      readOrder: async () => ({ ...(await fixture.read(order.id)), checkoutRef: undefined }),
    },
  }
  fixture.stripe.pay(known.checkoutRef)
  const [event] = fixture.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  expect.assert(event)
  const { body, signature } = fixture.stripe.sign(event)
  await handleWebhook(early, Buffer.from(body), signature)
  const paid = await fixture.read(order.id)
  expect([paid.state, paid.checkoutRef]).toStrictEqual(['paid', known.checkoutRef])
})

test('an order without a known checkout is left unchanged', async () => {
  const { id, ref } = await placeOrder('starter')
  fixture.stripe.pay(ref)
  await deliver()
  const withoutCheckout = {
    ...fixture.deps,
    shop: {
      ...fixture.shop,
      readOrder: async () => ({ ...(await fixture.read(id)), checkoutRef: undefined }),
    },
  }
  const refs = { checkoutRef: undefined, subscriptionRef: undefined, orderId: id }
  const event = { id: 'evt_nameless', type: 'charge.refunded', findRefs: async () => refs }
  await processEvent(withoutCheckout, event)
  expect((await fixture.read(id)).state).toBe('paid')
  expect.assert(await fixture.shop.hasEvent('evt_nameless'))
})

for (const [name, pay] of [
  ['another provider', { provider: 'fake' as const }],
  ['the other mode', { mode: 'live' as const }],
] as const) {
  test(`an order sold through ${name} is ignored`, async () => {
    const { id, ref } = await placeOrder('starter')
    fixture.stripe.pay(ref)
    const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...pay } }
    const refs = { checkoutRef: ref, subscriptionRef: undefined, orderId: id }
    await processEvent(deps, {
      id: `evt_${name}`,
      type: 'checkout.session.completed',
      findRefs: async () => refs,
    })
    expect((await fixture.read(id)).state).toBe('open')
    expect.assert(await fixture.shop.hasEvent(`evt_${name}`))
    await deliver()
  })
}

test('an event is not recorded while Stripe is unavailable, and applies when it is redelivered', async () => {
  const { id, ref } = await placeOrder('starter')
  fixture.stripe.pay(ref)
  const [event] = fixture.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  expect.assert(event)
  const { body, signature } = fixture.stripe.sign(event)
  fixture.stripe.outage = 'error'
  const delivery = handleWebhook(fixture.deps, Buffer.from(body), signature)
  await expect(delivery).rejects.toSatisfy(isProblem('payment_unavailable'))
  expect(await fixture.shop.hasEvent(event.id)).toBe(false)
  fixture.stripe.outage = undefined
  await handleWebhook(fixture.deps, Buffer.from(body), signature)
  expect((await fixture.read(id)).state).toBe('paid')
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
  expect((await fixture.read(id)).payments).toBe(2)
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
  await expect(
    settleOrder({ ...fixture.deps, pay: { ...fixture.deps.pay, remote: alwaysChanging } }, id, {
      event: { id: 'evt_restless', type: 'invoice.paid', receivedAt: fixture.deps.now() },
    }),
  ).rejects.toThrow(/changed 10 times/)
  expect(await fixture.shop.hasEvent('evt_restless')).toBe(false)
})

test('unchanged facts are not written', async () => {
  const { id } = await placeOrder('starter')
  const { revision } = await fixture.read(id)
  let written = 0
  const shop = {
    ...fixture.shop,
    applySettlement: async (change: Parameters<typeof fixture.shop.applySettlement>[0]) => {
      written += 1
      return await fixture.shop.applySettlement(change)
    },
  }
  await settleOrder({ ...fixture.deps, shop }, id)
  expect(written).toBe(0)
  expect((await fixture.read(id)).revision).toBe(revision)
})

test('without Stripe webhooks are not found', async () => {
  const pay = { ...fixture.deps.pay, provider: 'fake' as const, remote: undefined }
  const delivery = handleWebhook({ ...fixture.deps, pay }, Buffer.from('{}'), 't=1,v1=x')
  await expect(delivery).rejects.toSatisfy(isProblem('not_found'))
})
