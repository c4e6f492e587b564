import { Stripe } from 'stripe'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStripeClient } from '../stripe-client.ts'
import { openStripeFixture, type StripeFixture } from './stripe-shop.ts'

// What others build on: that the fake has Stripe's manners where they would otherwise go unnoticed.

let shop: StripeFixture
let client: Stripe
beforeEach(async () => {
  shop = await openStripeFixture()
  client = openStripeClient(shop.options)
})
afterEach(async () => await shop.server.close())

const wish = {
  mode: 'payment',
  success_url: 'https://mail.example/',
  line_items: [
    {
      quantity: 1,
      price_data: { currency: 'usd', unit_amount: 500, product_data: { name: 'Starter' } },
    },
  ],
} as const satisfies Stripe.Checkout.SessionCreateParams

test('the same key with other parameters is a conflict', async () => {
  const repeat = { idempotencyKey: 'once' }
  const first = await client.checkout.sessions.create(wish, repeat)
  const again = await client.checkout.sessions.create(wish, repeat)
  expect(again.id).toBe(first.id)
  await expect(
    client.checkout.sessions.create({ ...wish, client_reference_id: 'other' }, repeat),
  ).rejects.toBeInstanceOf(Stripe.errors.StripeIdempotencyError)
})

test('what failed may be asked again with the same key', async () => {
  const repeat = { idempotencyKey: 'once' }
  shop.server.outage = 'error'
  await expect(client.checkout.sessions.create(wish, repeat)).rejects.toMatchObject({
    statusCode: 500,
  })
  shop.server.outage = undefined
  expect((await client.checkout.sessions.create(wish, repeat)).status).toBe('open')
})

for (const [name, change] of [
  ['a parameter that Stripe does not know', { surprise: 'yes' }],
  ['a subscription at a price for once', { mode: 'subscription' }],
  ['the metadata of the other mode', { subscription_data: { metadata: { a: 'b' } } }],
  ['no way back', { success_url: '' }],
] as const) {
  test(`refused: ${name}`, async () => {
    const params = { ...wish, ...change } as Stripe.Checkout.SessionCreateParams
    await expect(client.checkout.sessions.create(params)).rejects.toMatchObject({
      statusCode: 400,
      type: 'StripeInvalidRequestError',
    })
  })
}

test('what is not there is 404, with the code by which it is known', async () => {
  await expect(client.charges.retrieve('ch_none')).rejects.toMatchObject({
    statusCode: 404,
    code: 'resource_missing',
  })
})

test('things are named, and whole only where that was asked for, four deep', async () => {
  const { checkoutRef } = await shop.createOrder('starter')
  shop.server.pay(checkoutRef)
  const { sessions } = client.checkout
  expect((await sessions.retrieve(checkoutRef)).payment_intent).toMatch(/^pi_/)
  const whole = await sessions.retrieve(checkoutRef, { expand: ['payment_intent.latest_charge'] })
  expect(whole.payment_intent).toMatchObject({ latest_charge: { object: 'charge', paid: true } })
  await expect(sessions.retrieve(checkoutRef, { expand: ['a.b.c.d.e'] })).rejects.toThrow(
    'more than 4 levels',
  )
})

test('a message over HTTP has the body that was signed', async () => {
  const { checkoutRef } = await shop.createOrder('starter')
  shop.server.expire(checkoutRef)
  const [event] = shop.server.take()
  if (!event) throw new Error('an expiry is told')
  const other = await openStripeFixture()
  expect(await shop.server.deliver(`${other.server.url}/v1/nowhere`, event)).toBe(401)
  expect(other.server.requests.at(-1)?.params).toBe(shop.server.sign(event).body)
  expect(shop.server.take()).toEqual([])
  await other.server.close()
})
