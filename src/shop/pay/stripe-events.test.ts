import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StripeEvent } from '../../../test/kit/shop/stripe/stripe-state.ts'
import type { OrderRefs, PaymentEvent } from './provider.ts'
import { openStripeClient } from './stripe-client.ts'
import { EVENT_TYPES, eventsSince } from './stripe-events.ts'
import { type Ordered, openStripeFixture, type StripeFixture } from './testing/stripe-fixture.ts'

let shop: StripeFixture
beforeEach(async () => {
  shop = await openStripeFixture()
})
afterEach(async () => await shop.server.close())

/** Also asks for the order. */
async function parse(event: StripeEvent | string) {
  const { body, signature } = shop.server.sign(event)
  return await resolved(await shop.remote.parseEvent(Buffer.from(body), signature))
}

const resolved = async ({ id, type, findRefs }: PaymentEvent) => ({
  id,
  type,
  refs: await findRefs(),
})

/** Everything that can happen to an order: emits every type of event. */
function runLifecycle({ server }: StripeFixture, { checkoutRef }: Ordered): void {
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
  test(`every event of a ${plan} order identifies the order`, async () => {
    const unused = await shop.createOrder(plan)
    shop.server.expire(unused.checkoutRef)
    const order = await shop.createOrder(plan)
    runLifecycle(shop, order)
    const seen = new Set<string>()
    for (const event of shop.server.take()) {
      const { id, type, refs } = await parse(event)
      expect({ id, type }).toEqual({ id: event.id, type: event.type })
      const known = EVENT_TYPES.includes(type)
      const mine = type === 'checkout.session.expired' ? unused.id : order.id
      expect(refs?.orderId, type).toBe(known ? mine : undefined)
      if (known) seen.add(type)
    }
    expect([...seen].sort()).toEqual([...types].sort())
  })
}

test('a checkout event has the checkout id, a renewal the subscription id', async () => {
  const { checkoutRef } = await shop.createOrder('business')
  shop.server.pay(checkoutRef)
  const subscriptionRef = shop.server.subscriptionOf(checkoutRef)
  shop.server.refund(shop.server.chargesOf(checkoutRef)[0] ?? '')
  shop.server.cancel(subscriptionRef)
  const refs = new Map<string, OrderRefs | undefined>()
  for (const event of shop.server.take()) refs.set(event.type, (await parse(event)).refs)
  expect(refs.get('checkout.session.completed')).toMatchObject({ checkoutRef, subscriptionRef })
  for (const type of ['invoice.paid', 'charge.refunded', 'customer.subscription.deleted']) {
    expect(refs.get(type)).toMatchObject({ checkoutRef: undefined, subscriptionRef })
  }
})

test('a refund of a one-time payment names the order without a request to Stripe', async () => {
  const order = await shop.createOrder('starter')
  shop.server.pay(order.checkoutRef)
  shop.server.refund(shop.server.chargesOf(order.checkoutRef)[0] ?? '')
  const refunded = shop.server.take().find(({ type }) => type === 'charge.refunded')
  if (!refunded) throw new Error('no refund event')
  shop.server.outage = 'error'
  expect((await parse(refunded)).refs).toMatchObject({ orderId: order.id })
})

describe('a payment without an order of ours', () => {
  test('has no order', async () => {
    const order = await shop.createOrder('starter')
    shop.server.pay(order.checkoutRef)
    const [charge = ''] = shop.server.chargesOf(order.checkoutRef)
    const { payment_intent } = shop.server.read('charge', charge)
    shop.server.overwrite('payment_intent', payment_intent, { metadata: {} })
    shop.server.overwrite('charge', charge, { metadata: {} })
    shop.server.take()
    shop.server.refund(charge)
    for (const event of shop.server.take()) {
      expect((await parse(event)).refs, event.type).toBeUndefined()
    }
  })

  test('has no order if Stripe does not know it either', async () => {
    const order = await shop.createOrder('starter')
    shop.server.pay(order.checkoutRef)
    shop.server.take()
    shop.server.dispute(shop.server.chargesOf(order.checkoutRef)[0] ?? '')
    const [event] = shop.server.take()
    if (!event) throw new Error('no dispute event')
    const object = { ...event.data.object, payment_intent: 'pi_of_somebody' }
    const { refs } = await parse(JSON.stringify({ ...event, data: { object } }))
    expect(refs).toBeUndefined()
  })
})

test('if the payment cannot be fetched, the event is refused and works when redelivered', async () => {
  const order = await shop.createOrder('starter')
  shop.server.pay(order.checkoutRef)
  shop.server.dispute(shop.server.chargesOf(order.checkoutRef)[0] ?? '')
  const event = shop.server.take().find(({ type }) => type === 'charge.dispute.created')
  if (!event) throw new Error('no dispute event')
  shop.server.outage = 'error'
  await expect(parse(event)).rejects.toMatchObject({ code: 'payment_unavailable' })
  shop.server.outage = undefined
  expect((await parse(event)).refs).toMatchObject({ orderId: order.id })
})

// Old endpoints send the format of their API version.
for (const [name, object, expected] of [
  ['an invoice before 2025', { subscription: 'sub_1' }, { subscriptionRef: 'sub_1' }],
  [
    'an invoice with an expanded subscription',
    { subscription: { id: 'sub_1' } },
    { subscriptionRef: 'sub_1' },
  ],
  [
    'an invoice with subscription_details',
    { subscription: 'sub_1', subscription_details: { metadata: { order_id: 'ord_1' } } },
    { subscriptionRef: 'sub_1', orderId: 'ord_1' },
  ],
  [
    'a current invoice',
    {
      parent: {
        subscription_details: { subscription: 'sub_1', metadata: { order_id: 'ord_1' } },
      },
    },
    { subscriptionRef: 'sub_1', orderId: 'ord_1' },
  ],
  ['an invoice without a subscription', { parent: null }, undefined],
  [
    'an order id that is not a string',
    { parent: { subscription_details: { metadata: { order_id: 7 } } } },
    undefined,
  ],
] as const) {
  test(`${name} is parsed`, async () => {
    const event = { id: 'evt_1', type: 'invoice.paid', livemode: false, data: { object } }
    const { refs } = await parse(JSON.stringify(event))
    expect(refs).toEqual(expected && { checkoutRef: undefined, orderId: undefined, ...expected })
  })
}

const missed = (since: string) =>
  Array.fromAsync(shop.remote.missedEvents(new Date(since)), resolved)

/** One expired order each second. */
async function expireMany(count: number): Promise<string[]> {
  const { checkoutRef } = await shop.createOrder('starter')
  for (let at = 0; at < count; at += 1) {
    shop.clock.now = new Date(shop.clock.now.getTime() + 1_000)
    shop.server.expire(checkoutRef)
  }
  return shop.server.events.map(({ id }) => id)
}

test('missed events are returned oldest first, with their orders', async () => {
  const first = await shop.createOrder('starter')
  shop.server.pay(first.checkoutRef)
  shop.clock.now = new Date('2027-03-05T11:00:00Z')
  const second = await shop.createOrder('business')
  shop.server.pay(second.checkoutRef)
  shop.server.refund(shop.server.chargesOf(second.checkoutRef)[0] ?? '')
  const events = await missed('2027-03-05T00:00:00Z')
  expect(events.map(({ type, refs }) => `${type} ${refs?.orderId}`)).toEqual([
    'checkout.session.completed ord_1',
    'invoice.paid ord_2',
    'customer.subscription.updated ord_2',
    'checkout.session.completed ord_2',
    'refund.created ord_2',
    'charge.refunded ord_2',
  ])
})

for (const [since, count] of [
  ['2027-03-05T09:59:59Z', 1],
  ['2027-03-05T10:00:00Z', 1],
  ['2027-03-05T10:00:00.999Z', 1],
  ['2027-03-05T10:00:01Z', 0],
] as const) {
  test(`an event of 10:00:00 since ${since}: ${count}`, async () => {
    const { checkoutRef } = await shop.createOrder('starter')
    shop.server.expire(checkoutRef)
    shop.clock.now = new Date('2027-03-05T12:00:00Z')
    expect(await missed(since)).toHaveLength(count)
  })
}

test('every page is read', async () => {
  const ids = await expireMany(250)
  expect((await missed('2027-03-05T00:00:00Z')).map(({ id }) => id)).toEqual(ids)
})

test('more events than the buffer holds keep their order, each once', async () => {
  const ids = await expireMany(100)
  const span = { since: new Date('2027-03-05T00:00:00Z'), now: shop.clock.now }
  const events = await Array.fromAsync(eventsSince(openStripeClient(shop.options), span, 7))
  expect(events.map(({ id }) => id)).toEqual(ids)
})

test('more events in one second than the buffer holds are an error, not a gap', async () => {
  const { checkoutRef } = await shop.createOrder('starter')
  for (let at = 0; at < 9; at += 1) shop.server.expire(checkoutRef)
  const span = { since: new Date('2027-03-05T09:00:00Z'), now: shop.clock.now }
  const events = eventsSince(openStripeClient(shop.options), span, 7)
  await expect(Array.fromAsync(events)).rejects.toThrow('more than 7 Stripe events in one second')
})

test('a failed request is an error, not an empty list', async () => {
  shop.server.outage = 'error'
  await expect(missed('2027-03-05T00:00:00Z')).rejects.toMatchObject({
    code: 'payment_unavailable',
  })
})

test('one request covers all event types (at most 20)', () => {
  expect(EVENT_TYPES.length).toBeLessThanOrEqual(20)
})
