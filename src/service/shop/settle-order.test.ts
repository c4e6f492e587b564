import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, test } from 'vitest'
import { isProblem } from '../../../test/support/problem.ts'
import type { RemoteProvider } from '../../pay/provider.ts'
import { openShopFixture, type ShopFixture } from '../testing/shop.ts'
import { handleWebhook, processNotice, settleOrder } from './settle-order.ts'

let fixture: ShopFixture
let book: RemoteProvider
beforeAll(async () => {
  fixture = await openShopFixture()
  assert.ok(fixture.deps.pay.remote)
  book = fixture.deps.pay.remote
})
afterAll(() => fixture.stop())
beforeEach(() => {
  fixture.stripe.outage = undefined
  fixture.stripe.take()
})

/** Everything that Stripe has to tell since the last time, heard in this order. */
async function hear(turn = (events: ReturnType<typeof fixture.stripe.take>) => events) {
  for (const event of turn(fixture.stripe.take())) {
    const { body, signature } = fixture.stripe.sign(event)
    await handleWebhook(fixture.deps, Buffer.from(body), signature)
  }
}

async function bought(plan: string) {
  const { order } = await fixture.order({ plan })
  const { checkoutRef: ref = '' } = await fixture.read(order.id)
  return { ...order, ref }
}

test('a payment that is told before we know what the checkout is called is found by the order', async () => {
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

test('an order whose checkout nobody knows is left as it is', async () => {
  const { id, ref } = await bought('starter')
  fixture.stripe.pay(ref)
  await hear()
  const nameless = {
    ...fixture.deps,
    shop: {
      ...fixture.shop,
      readPurchase: async () => ({ ...(await fixture.read(id)), checkoutRef: undefined }),
    },
  }
  const about = { checkoutRef: undefined, subscriptionRef: undefined, orderId: id }
  await processNotice(nameless, { id: 'evt_nameless', type: 'charge.refunded', hint: about })
  assert.equal((await fixture.read(id)).state, 'paid')
  assert.ok(await fixture.shop.hasEvent('evt_nameless'))
})

for (const [name, pay] of [
  ['another provider', { provider: 'fake' as const }],
  ['the other mode', { mode: 'live' as const }],
] as const) {
  test(`an order that was sold through ${name} is none of this one’s`, async () => {
    const { id, ref } = await bought('starter')
    fixture.stripe.pay(ref)
    const deps = { ...fixture.deps, pay: { ...fixture.deps.pay, ...pay } }
    const about = { checkoutRef: ref, subscriptionRef: undefined, orderId: id }
    await processNotice(deps, {
      id: `evt_${name}`,
      type: 'checkout.session.completed',
      hint: about,
    })
    assert.equal((await fixture.read(id)).state, 'open')
    assert.ok(await fixture.shop.hasEvent(`evt_${name}`))
    await hear()
  })
}

test('while Stripe cannot be asked nothing is noted, and the message counts when it comes again', async () => {
  const { id, ref } = await bought('starter')
  fixture.stripe.pay(ref)
  const [event] = fixture.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  assert.ok(event)
  const { body, signature } = fixture.stripe.sign(event)
  fixture.stripe.outage = 'error'
  const heard = handleWebhook(fixture.deps, Buffer.from(body), signature)
  await assert.rejects(heard, isProblem('payment_unavailable'))
  assert.equal(await fixture.shop.hasEvent(event.id), false)
  fixture.stripe.outage = undefined
  await handleWebhook(fixture.deps, Buffer.from(body), signature)
  assert.equal((await fixture.read(id)).state, 'paid')
})

test('an older reading does not overwrite a newer one', async () => {
  const { id, ref } = await bought('business')
  fixture.stripe.pay(ref)
  let raced = false
  const racing: RemoteProvider = {
    ...book,
    async fetchFacts(order) {
      const facts = await book.fetchFacts(order)
      if (raced) return facts
      raced = true
      // Meanwhile the next year is paid, told and settled.
      fixture.stripe.renew(fixture.stripe.subscriptionOf(ref))
      await hear()
      return facts
    },
  }
  await settleOrder({ ...fixture.deps, pay: { remote: racing } }, id)
  assert.equal((await fixture.read(id)).payments, 2)
})

test('an order that never stands still is given up for now, so that the message comes again', async () => {
  const { id, ref } = await bought('business')
  fixture.stripe.pay(ref)
  await hear()
  const restless: RemoteProvider = {
    ...book,
    async fetchFacts(order) {
      const facts = await book.fetchFacts(order)
      fixture.stripe.renew(fixture.stripe.subscriptionOf(ref))
      await hear()
      return facts
    },
  }
  await assert.rejects(
    settleOrder({ ...fixture.deps, pay: { remote: restless } }, id, {
      event: { id: 'evt_restless', type: 'invoice.paid', receivedAt: fixture.deps.now() },
    }),
    /changed 10 times/,
  )
  assert.equal(await fixture.shop.hasEvent('evt_restless'), false)
})

test('what is as it was is not written', async () => {
  const { id } = await bought('starter')
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

test('without Stripe nobody listens', async () => {
  const pay = { ...fixture.deps.pay, provider: 'fake' as const, remote: undefined }
  const heard = handleWebhook({ ...fixture.deps, pay }, Buffer.from('{}'), 't=1,v1=x')
  await assert.rejects(heard, isProblem('not_found'))
})
