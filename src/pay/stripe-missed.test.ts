import { afterEach, beforeEach, expect, test } from 'vitest'
import type { PaymentEvent } from './provider.ts'
import { openStripeClient } from './stripe-client.ts'
import { EVENT_TYPES, eventsSince } from './stripe-events.ts'
import { openStripeFixture, type StripeFixture } from './testing/stripe-shop.ts'

let shop: StripeFixture
beforeEach(async () => {
  shop = await openStripeFixture()
})
afterEach(async () => await shop.server.close())

async function missed(since: string): Promise<PaymentEvent[]> {
  return await Array.fromAsync(shop.book.missedEvents(new Date(since)), ({ resolve }) => resolve())
}

/** So many orders that expire, one each second. */
async function expireMany(count: number): Promise<string[]> {
  const { checkoutRef } = await shop.createOrder('starter')
  for (let at = 0; at < count; at += 1) {
    shop.clock.now = new Date(shop.clock.now.getTime() + 1_000)
    shop.server.expire(checkoutRef)
  }
  return shop.server.events.map(({ id }) => id)
}

test('what we missed comes oldest first, and leads to the orders', async () => {
  const first = await shop.createOrder('starter')
  shop.server.pay(first.checkoutRef)
  shop.clock.now = new Date('2027-03-05T11:00:00Z')
  const second = await shop.createOrder('business')
  shop.server.pay(second.checkoutRef)
  shop.server.refund(shop.server.chargesOf(second.checkoutRef)[0] ?? '')
  const notices = await missed('2027-03-05T00:00:00Z')
  expect(notices.map(({ type, hint }) => `${type} ${hint?.orderId}`)).toEqual([
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
  test(`of 10:00:00, ${count} is missed since ${since}`, async () => {
    const { checkoutRef } = await shop.createOrder('starter')
    shop.server.expire(checkoutRef)
    shop.clock.now = new Date('2027-03-05T12:00:00Z')
    expect(await missed(since)).toHaveLength(count)
  })
}

test('all pages are read', async () => {
  const ids = await expireMany(250)
  expect((await missed('2027-03-05T00:00:00Z')).map(({ id }) => id)).toEqual(ids)
})

test('more than are held at once come in the same order, each once', async () => {
  const ids = await expireMany(100)
  const span = { since: new Date('2027-03-05T00:00:00Z'), now: shop.clock.now }
  const events = await Array.fromAsync(eventsSince(openStripeClient(shop.options), span, 7))
  expect(events.map(({ id }) => id)).toEqual(ids)
})

test('a second with more than can be held is an error, not a gap', async () => {
  const { checkoutRef } = await shop.createOrder('starter')
  for (let at = 0; at < 9; at += 1) shop.server.expire(checkoutRef)
  const span = { since: new Date('2027-03-05T09:00:00Z'), now: shop.clock.now }
  const events = eventsSince(openStripeClient(shop.options), span, 7)
  await expect(Array.fromAsync(events)).rejects.toThrow('more than 7 events of one second')
})

test('a provider that fails is no quiet provider', async () => {
  shop.server.outage = 'error'
  await expect(missed('2027-03-05T00:00:00Z')).rejects.toMatchObject({
    code: 'payment_unavailable',
  })
})

test('Stripe takes up to 20 types in one question', () => {
  expect(EVENT_TYPES.length).toBeLessThanOrEqual(20)
})
