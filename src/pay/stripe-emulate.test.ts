import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createEmulator, type Emulator } from 'emulate'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStripe } from './stripe.ts'
import { verifyEvent } from './stripe-events.ts'
import { checkoutOrder } from './testing/stripe-shop.ts'

// A second opinion on the one-time path from somebody else's emulator of Stripe (emulate 0.12.2). It can open, show, pay
// and expire a checkout, and it signs its messages with code of its own. It cannot do the rest, and so is no opinion on
// it: no inline prices, no amount, currency or payment on a session, no expand, no idempotency keys, no subscriptions,
// invoices, refunds, disputes or list of events, and its messages carry no id and no mode. Live Stripe was not reached.

const WEBHOOK_SECRET = 'whsec_of_the_emulator'
const now = () => new Date()

let emulator: Emulator
let ear: Server
let heard: Promise<{ raw: Uint8Array; signature: string | undefined }>
beforeEach(async () => {
  ear = createServer()
  ear.listen(0, '127.0.0.1')
  await once(ear, 'listening')
  heard = listen(ear)
  emulator = await createEmulator({
    service: 'stripe',
    port: 0,
    seed: {
      stripe: {
        products: [{ name: 'Starter' }],
        prices: [{ id: 'price_five', product_name: 'Starter', currency: 'usd', unit_amount: 500 }],
        webhooks: [{ url: urlOf(ear), events: ['*'], secret: WEBHOOK_SECRET }],
      },
    },
  })
})
afterEach(async () => {
  await emulator.close()
  ear.closeAllConnections()
  ear.close()
})

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The first message that comes. */
async function listen(server: Server) {
  const [request, response] = await once(server, 'request')
  const raw = await buffer(request)
  response.end()
  return { raw, signature: request.headers['stripe-signature'] as string | undefined }
}

function open() {
  return openStripe({
    secretKey: 'sk_test_emulated',
    webhookSecrets: [WEBHOOK_SECRET],
    apiUrl: emulator.url,
    prices: { starter: 'price_five' },
    now,
  })
}

const pay = (url: string) => fetch(`${url}/complete`, { method: 'POST', redirect: 'manual' })

test('a checkout opens, with a page that names what is sold and leads back to us', async () => {
  const { ref, url } = await open().open(checkoutOrder())
  expect(ref).toMatch(/^cs_/)
  const page = await (await fetch(url)).text()
  expect(page).toContain('Starter')
  expect(page).toContain('$5.00')
  expect(page).toContain('https://mail.example/pricing')
  const paid = await pay(url)
  expect(paid.headers.get('location')).toBe('https://mail.example/orders/ord_1')
})

test('a price that it does not know is refused in words that we understand', async () => {
  const shop = openStripe({
    secretKey: 'sk_test_emulated',
    webhookSecrets: [WEBHOOK_SECRET],
    apiUrl: emulator.url,
    prices: { starter: 'price_none' },
    now,
  })
  await expect(shop.open(checkoutOrder())).rejects.toMatchObject({
    code: 'payment_unavailable',
    cause: { message: expect.stringContaining("No such price: 'price_none'") },
  })
})

test('an open checkout reads as open, an expired one as expired', async () => {
  const shop = open()
  const order = checkoutOrder()
  const { ref } = await shop.open(order)
  const asked = { ...order, checkoutRef: ref, subscriptionRef: undefined }
  expect((await shop.book?.fetchFacts(asked))?.state).toBe('open')
  const headers = { authorization: 'Bearer sk_test_emulated' }
  await fetch(`${emulator.url}/v1/checkout/sessions/${ref}/expire`, { method: 'POST', headers })
  expect((await shop.book?.fetchFacts(asked))?.state).toBe('expired')
})

test('a paid checkout that names no amount opens nothing', async () => {
  const shop = open()
  const order = checkoutOrder()
  const { ref, url } = await shop.open(order)
  await pay(url)
  expect(
    await shop.book?.fetchFacts({ ...order, checkoutRef: ref, subscriptionRef: undefined }),
  ).toMatchObject({ state: 'failed', payments: [] })
})

test('its signature is one that we take, and only under its own bytes', async () => {
  const { ref, url } = await open().open(checkoutOrder())
  await pay(url)
  const { raw, signature } = await heard
  const deps = { webhookSecrets: [WEBHOOK_SECRET], now }
  expect(verifyEvent(raw, signature, deps)).toMatchObject({
    type: 'checkout.session.completed',
    data: { object: { id: ref, metadata: { order_id: 'ord_1' } } },
  })
  const altered = Buffer.from(raw).fill(' ', raw.length - 1)
  expect(() => verifyEvent(altered, signature, deps)).toThrow('does not fit')
  const later = () => new Date(Date.now() + 302_000)
  expect(() => verifyEvent(raw, signature, { ...deps, now: later })).toThrow('does not fit')
})
