import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, test } from 'vitest'
import { isProblem } from '../../../test/problem.ts'
import type { PaymentBook } from '../../pay/pay.ts'
import { hearPayment, takeNotice } from './payment-notice.ts'
import { settleOrder } from './settle-order.ts'
import { openShopScene, type ShopScene } from '../testing/shop.ts'

let scene: ShopScene
let book: PaymentBook
beforeAll(async () => {
  scene = await openShopScene()
  assert.ok(scene.needs.pay.book)
  book = scene.needs.pay.book
})
afterAll(() => scene.stop())
beforeEach(() => {
  scene.stripe.outage = undefined
  scene.stripe.take()
})

/** Everything that Stripe has to tell since the last time, heard in this order. */
async function hear(turn = (events: ReturnType<typeof scene.stripe.take>) => events) {
  for (const event of turn(scene.stripe.take())) {
    const { body, signature } = scene.stripe.sign(event)
    await hearPayment(scene.needs, Buffer.from(body), signature)
  }
}

async function bought(plan: string) {
  const { order } = await scene.order({ plan })
  const { checkoutRef: ref = '' } = await scene.read(order.id)
  return { ...order, ref }
}

test('a payment that is told before we know what the checkout is called is found by the order', async () => {
  const { order } = await scene.order()
  const known = await scene.read(order.id)
  assert.ok(known.checkoutRef)
  const early = {
    ...scene.needs,
    shop: {
      ...scene.shop,
      findPurchaseByRef: async () => undefined,
      readPurchase: async () => ({ ...(await scene.read(order.id)), checkoutRef: undefined }),
    },
  }
  scene.stripe.pay(known.checkoutRef)
  const [event] = scene.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  assert.ok(event)
  const { body, signature } = scene.stripe.sign(event)
  await hearPayment(early, Buffer.from(body), signature)
  const paid = await scene.read(order.id)
  assert.deepEqual([paid.state, paid.checkoutRef], ['paid', known.checkoutRef])
})

test('an order whose checkout nobody knows is left as it is', async () => {
  const { id, ref } = await bought('starter')
  scene.stripe.pay(ref)
  await hear()
  const nameless = {
    ...scene.needs,
    shop: {
      ...scene.shop,
      readPurchase: async () => ({ ...(await scene.read(id)), checkoutRef: undefined }),
    },
  }
  const about = { checkoutRef: undefined, subscriptionRef: undefined, orderId: id }
  await takeNotice(nameless, { id: 'evt_nameless', type: 'charge.refunded', about })
  assert.equal((await scene.read(id)).state, 'paid')
  assert.ok(await scene.shop.knowsEvent('evt_nameless'))
})

for (const [name, pay] of [
  ['another provider', { provider: 'fake' as const }],
  ['the other mode', { mode: 'live' as const }],
] as const) {
  test(`an order that was sold through ${name} is none of this one’s`, async () => {
    const { id, ref } = await bought('starter')
    scene.stripe.pay(ref)
    const needs = { ...scene.needs, pay: { ...scene.needs.pay, ...pay } }
    const about = { checkoutRef: ref, subscriptionRef: undefined, orderId: id }
    await takeNotice(needs, { id: `evt_${name}`, type: 'checkout.session.completed', about })
    assert.equal((await scene.read(id)).state, 'open')
    assert.ok(await scene.shop.knowsEvent(`evt_${name}`))
    await hear()
  })
}

test('while Stripe cannot be asked nothing is noted, and the message counts when it comes again', async () => {
  const { id, ref } = await bought('starter')
  scene.stripe.pay(ref)
  const [event] = scene.stripe.take().filter(({ type }) => type === 'checkout.session.completed')
  assert.ok(event)
  const { body, signature } = scene.stripe.sign(event)
  scene.stripe.outage = 'error'
  const heard = hearPayment(scene.needs, Buffer.from(body), signature)
  await assert.rejects(heard, isProblem('payment_unavailable'))
  assert.equal(await scene.shop.knowsEvent(event.id), false)
  scene.stripe.outage = undefined
  await hearPayment(scene.needs, Buffer.from(body), signature)
  assert.equal((await scene.read(id)).state, 'paid')
})

test('an older reading does not overwrite a newer one', async () => {
  const { id, ref } = await bought('business')
  scene.stripe.pay(ref)
  let raced = false
  const racing: PaymentBook = {
    ...book,
    async read(order) {
      const facts = await book.read(order)
      if (raced) return facts
      raced = true
      // Meanwhile the next year is paid, told and settled.
      scene.stripe.renew(scene.stripe.subscriptionOf(ref))
      await hear()
      return facts
    },
  }
  await settleOrder({ ...scene.needs, pay: { book: racing } }, id)
  assert.equal((await scene.read(id)).payments, 2)
})

test('an order that never stands still is given up for now, so that the message comes again', async () => {
  const { id, ref } = await bought('business')
  scene.stripe.pay(ref)
  await hear()
  const restless: PaymentBook = {
    ...book,
    async read(order) {
      const facts = await book.read(order)
      scene.stripe.renew(scene.stripe.subscriptionOf(ref))
      await hear()
      return facts
    },
  }
  await assert.rejects(
    settleOrder({ ...scene.needs, pay: { book: restless } }, id, {
      event: { id: 'evt_restless', type: 'invoice.paid', receivedAt: scene.needs.now() },
    }),
    /changed 10 times/,
  )
  assert.equal(await scene.shop.knowsEvent('evt_restless'), false)
})

test('what is as it was is not written', async () => {
  const { id } = await bought('starter')
  const { revision } = await scene.read(id)
  let written = 0
  const shop = {
    ...scene.shop,
    settlePurchase: async (change: Parameters<typeof scene.shop.settlePurchase>[0]) => {
      written += 1
      return await scene.shop.settlePurchase(change)
    },
  }
  await settleOrder({ ...scene.needs, shop }, id)
  assert.equal(written, 0)
  assert.equal((await scene.read(id)).revision, revision)
})

test('without Stripe nobody listens', async () => {
  const pay = { ...scene.needs.pay, provider: 'fake' as const, book: undefined }
  const heard = hearPayment({ ...scene.needs, pay }, Buffer.from('{}'), 't=1,v1=x')
  await assert.rejects(heard, isProblem('not_found'))
})
