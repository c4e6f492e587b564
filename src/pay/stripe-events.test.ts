import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PaymentEvent } from './provider.ts'
import { EVENT_TYPES, eventRefs } from './stripe-events.ts'
import type { StripeEvent } from './testing/stripe-shapes.ts'
import { type Ordered, openStripeFixture, type StripeFixture } from './testing/stripe-shop.ts'

let shop: StripeFixture
beforeEach(async () => {
  shop = await openStripeFixture()
})
afterEach(async () => await shop.server.close())

async function hear(event: StripeEvent): Promise<PaymentEvent> {
  const { body, signature } = shop.server.sign(event)
  return await shop.book.parseEvent(Buffer.from(body), signature)
}

/** Everything that can happen to an order, so that every type of event is told. */
function live({ server }: StripeFixture, { checkoutRef }: Ordered): void {
  const charge = () => server.chargesOf(checkoutRef).at(-1) ?? ''
  server.payLater(checkoutRef)
  server.fail(checkoutRef)
  server.succeed(checkoutRef)
  server.failRefund(server.refund(charge(), 100))
  const dispute = server.dispute(charge())
  server.moveDispute(dispute, 'under_review')
  server.win(dispute)
  const { subscription } = server.read('checkout.session', checkoutRef)
  if (!subscription) return
  server.failRenewal(subscription)
  server.renew(subscription)
  server.cancel(subscription)
}

const BOTH = [...EVENT_TYPES].filter((type) => /^(?:checkout|charge|refund)/.test(type))

for (const [plan, types] of [
  ['starter', BOTH],
  ['business', EVENT_TYPES],
] as const) {
  test(`every event of an order of ${plan} leads to the order`, async () => {
    const unused = await shop.createOrder(plan)
    shop.server.expire(unused.checkoutRef)
    const order = await shop.createOrder(plan)
    live(shop, order)
    const seen = new Set<string>()
    for (const event of shop.server.take()) {
      const { id, type, hint } = await hear(event)
      expect({ id, type }).toEqual({ id: event.id, type: event.type })
      const known = EVENT_TYPES.includes(type)
      const mine = type === 'checkout.session.expired' ? unused.id : order.id
      expect(hint?.orderId, type).toBe(known ? mine : undefined)
      if (known) seen.add(type)
    }
    expect([...seen].sort()).toEqual([...types].sort())
  })
}

test('a checkout is named by itself, a renewal by its subscription', async () => {
  const { checkoutRef } = await shop.createOrder('business')
  shop.server.pay(checkoutRef)
  const subscriptionRef = shop.server.subscriptionOf(checkoutRef)
  shop.server.refund(shop.server.chargesOf(checkoutRef)[0] ?? '')
  shop.server.cancel(subscriptionRef)
  const about = new Map<string, PaymentEvent['hint']>()
  for (const event of shop.server.take()) about.set(event.type, (await hear(event)).hint)
  expect(about.get('checkout.session.completed')).toMatchObject({ checkoutRef, subscriptionRef })
  for (const type of ['invoice.paid', 'charge.refunded', 'customer.subscription.deleted']) {
    expect(about.get(type)).toMatchObject({ checkoutRef: undefined, subscriptionRef })
  }
})

test('a refund of what was paid once names the order: Stripe need not be asked', async () => {
  const order = await shop.createOrder('starter')
  shop.server.pay(order.checkoutRef)
  shop.server.refund(shop.server.chargesOf(order.checkoutRef)[0] ?? '')
  const refunded = shop.server.take().find(({ type }) => type === 'charge.refunded')
  if (!refunded) throw new Error('a refund is told')
  shop.server.outage = 'error'
  expect((await hear(refunded)).hint).toMatchObject({ orderId: order.id })
})

describe('a payment that has nothing to do with us', () => {
  test('is about no order', async () => {
    const order = await shop.createOrder('starter')
    shop.server.pay(order.checkoutRef)
    const [charge = ''] = shop.server.chargesOf(order.checkoutRef)
    const { payment_intent } = shop.server.read('charge', charge)
    shop.server.overwrite('payment_intent', payment_intent, { metadata: {} })
    shop.server.overwrite('charge', charge, { metadata: {} })
    shop.server.take()
    shop.server.refund(charge)
    for (const event of shop.server.take()) {
      expect((await hear(event)).hint, event.type).toBeUndefined()
    }
  })

  test('is about no order when Stripe does not know it either', async () => {
    const order = await shop.createOrder('starter')
    shop.server.pay(order.checkoutRef)
    shop.server.take()
    shop.server.dispute(shop.server.chargesOf(order.checkoutRef)[0] ?? '')
    const [event] = shop.server.take()
    if (!event) throw new Error('a dispute is told')
    const thing = { ...event.data.object, payment_intent: 'pi_of_somebody' }
    const { body, signature } = shop.server.sign(
      JSON.stringify({ ...event, data: { object: thing } }),
    )
    expect((await shop.book.parseEvent(Buffer.from(body), signature)).hint).toBeUndefined()
  })
})

test('while Stripe cannot be asked whose payment it is, the message must come again', async () => {
  const order = await shop.createOrder('starter')
  shop.server.pay(order.checkoutRef)
  shop.server.dispute(shop.server.chargesOf(order.checkoutRef)[0] ?? '')
  const event = shop.server.take().find(({ type }) => type === 'charge.dispute.created')
  if (!event) throw new Error('a dispute is told')
  shop.server.outage = 'error'
  await expect(hear(event)).rejects.toMatchObject({ code: 'payment_unavailable' })
  shop.server.outage = undefined
  expect((await hear(event)).hint).toMatchObject({ orderId: order.id })
})

// Endpoints that were made long ago send what their API version called it.
for (const [name, object, expected] of [
  ['an invoice before 2025', { subscription: 'sub_1' }, { subscriptionRef: 'sub_1' }],
  [
    'an invoice with its subscription as a whole',
    { subscription: { id: 'sub_1' } },
    { subscriptionRef: 'sub_1' },
  ],
  [
    'an invoice with details of its own',
    { subscription: 'sub_1', subscription_details: { metadata: { order_id: 'ord_1' } } },
    { subscriptionRef: 'sub_1', orderId: 'ord_1' },
  ],
  [
    'an invoice of today',
    {
      parent: {
        subscription_details: { subscription: 'sub_1', metadata: { order_id: 'ord_1' } },
      },
    },
    { subscriptionRef: 'sub_1', orderId: 'ord_1' },
  ],
  ['an invoice without a subscription', { parent: null }, undefined],
  [
    'an order id that is no text',
    { parent: { subscription_details: { metadata: { order_id: 7 } } } },
    undefined,
  ],
] as const) {
  test(`${name} is understood`, () => {
    const event = { id: 'evt_1', type: 'invoice.paid', livemode: false, data: { object } }
    const { hint } = eventRefs(event, 'test')
    expect(hint).toEqual(expected && { checkoutRef: undefined, orderId: undefined, ...expected })
  })
}
