import { Stripe } from 'stripe'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStripeClient } from './stripe-client.ts'
import { openStripeFixture, type StripeFixture } from './testing/stripe-fixture.ts'

// Where the double has to behave like Stripe although no other test would notice.

let shop: StripeFixture
let client: Stripe
beforeEach(async () => {
  shop = await openStripeFixture()
  client = openStripeClient(shop.options)
})
afterEach(async () => await shop.server.close())

const PARAMS = {
  mode: 'payment',
  success_url: 'https://mail.example/',
  line_items: [
    {
      quantity: 1,
      price_data: { currency: 'usd', unit_amount: 500, product_data: { name: 'Starter' } },
    },
  ],
} as const satisfies Stripe.Checkout.SessionCreateParams

test('an idempotency key returns the first session; with other parameters it is a conflict', async () => {
  const key = { idempotencyKey: 'once' }
  const { sessions } = client.checkout
  const first = await sessions.create(PARAMS, key)
  expect((await sessions.create(PARAMS, key)).id).toBe(first.id)
  await expect(
    sessions.create({ ...PARAMS, client_reference_id: 'other' }, key),
  ).rejects.toBeInstanceOf(Stripe.errors.StripeIdempotencyError)
})

test('a failed request can be repeated with the same idempotency key', async () => {
  const key = { idempotencyKey: 'once' }
  shop.server.outage = 'error'
  await expect(client.checkout.sessions.create(PARAMS, key)).rejects.toMatchObject({
    statusCode: 500,
  })
  shop.server.outage = undefined
  expect((await client.checkout.sessions.create(PARAMS, key)).status).toBe('open')
})

test('a one-time price cannot be sold as a subscription', async () => {
  await expect(
    client.checkout.sessions.create({ ...PARAMS, mode: 'subscription' }),
  ).rejects.toMatchObject({ statusCode: 400, type: 'StripeInvalidRequestError' })
})

test('an unknown id is 404 resource_missing', async () => {
  await expect(client.charges.retrieve('ch_none')).rejects.toMatchObject({
    statusCode: 404,
    code: 'resource_missing',
  })
})

test('references are ids unless the request expands them', async () => {
  const { checkoutRef } = await shop.createOrder('starter')
  shop.server.pay(checkoutRef)
  const { sessions } = client.checkout
  expect((await sessions.retrieve(checkoutRef)).payment_intent).toMatch(/^pi_/)
  const whole = await sessions.retrieve(checkoutRef, { expand: ['payment_intent.latest_charge'] })
  expect(whole.payment_intent).toMatchObject({ latest_charge: { object: 'charge', paid: true } })
  await expect(sessions.retrieve(checkoutRef, { expand: ['typo'] })).rejects.toThrow(
    'cannot be expanded',
  )
})

test('a delivered event has the body that was signed, and is taken once', async () => {
  const { checkoutRef } = await shop.createOrder('starter')
  shop.server.expire(checkoutRef)
  const [event] = shop.server.take()
  if (!event) throw new Error('no event for an expired checkout')
  const other = await openStripeFixture()
  expect(await shop.server.deliver(`${other.server.url}/v1/nowhere`, event)).toBe(401)
  expect(other.server.requests.at(-1)?.params).toBe(shop.server.sign(event).body)
  expect(shop.server.take()).toEqual([])
  await other.server.close()
})
