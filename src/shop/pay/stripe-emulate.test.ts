import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createEmulator, type Emulator } from 'emulate'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStripe } from './stripe.ts'
import { verifyEvent } from './stripe-events.ts'
import { checkoutOrder } from './testing/stripe-fixture.ts'

// The one-time flow against an independent emulator of Stripe (emulate 0.12.2). It can create, show, pay and expire a
// checkout, and signs its events with its own code. It has no inline prices, no amount, currency or payment on a session,
// no expand, idempotency keys, subscriptions, invoices, refunds, disputes or event list, and its events have no id or mode.

const WEBHOOK_SECRET = 'whsec_of_the_emulator'
const now = () => new Date()

let emulator: Emulator
let webhook: Server
let received: Promise<{ raw: Uint8Array; signature: string | undefined }>
beforeEach(async () => {
  webhook = createServer()
  webhook.listen(0, '127.0.0.1')
  await once(webhook, 'listening')
  received = firstEvent(webhook)
  emulator = await createEmulator({
    service: 'stripe',
    port: 0,
    seed: {
      stripe: {
        products: [{ name: 'Starter' }],
        prices: [{ id: 'price_five', product_name: 'Starter', currency: 'usd', unit_amount: 500 }],
        webhooks: [{ url: urlOf(webhook), events: ['*'], secret: WEBHOOK_SECRET }],
      },
    },
  })
})
afterEach(async () => {
  await emulator.close()
  webhook.closeAllConnections()
  webhook.close()
})

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function firstEvent(server: Server) {
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

test('a checkout has a page with product and price, and returns to our site', async () => {
  const { ref, url } = await open().createCheckout(checkoutOrder())
  expect(ref).toMatch(/^cs_/)
  const page = await (await fetch(url)).text()
  expect(page).toContain('Starter')
  expect(page).toContain('$5.00')
  expect(page).toContain('https://mail.example/pricing')
  const paid = await pay(url)
  expect(paid.headers.get('location')).toBe('https://mail.example/orders/ord_1')
})

test('an unknown price is payment_unavailable with the cause', async () => {
  const shop = openStripe({
    secretKey: 'sk_test_emulated',
    webhookSecrets: [WEBHOOK_SECRET],
    apiUrl: emulator.url,
    prices: { starter: 'price_none' },
    now,
  })
  await expect(shop.createCheckout(checkoutOrder())).rejects.toMatchObject({
    code: 'payment_unavailable',
    cause: { message: expect.stringContaining("No such price: 'price_none'") },
  })
})

test('an open checkout is open, an expired one is expired', async () => {
  const shop = open()
  const order = checkoutOrder()
  const { ref } = await shop.createCheckout(order)
  const known = { ...order, checkoutRef: ref, subscriptionRef: undefined }
  expect((await shop.remote?.fetchFacts(known))?.state).toBe('open')
  const headers = { authorization: 'Bearer sk_test_emulated' }
  await fetch(`${emulator.url}/v1/checkout/sessions/${ref}/expire`, { method: 'POST', headers })
  expect((await shop.remote?.fetchFacts(known))?.state).toBe('expired')
})

test('a paid checkout without an amount does not count', async () => {
  const shop = open()
  const order = checkoutOrder()
  const { ref, url } = await shop.createCheckout(order)
  await pay(url)
  expect(
    await shop.remote?.fetchFacts({ ...order, checkoutRef: ref, subscriptionRef: undefined }),
  ).toMatchObject({ state: 'failed', payments: [] })
})

test('its signature is accepted for the exact bytes only, and not after 300 seconds', async () => {
  const { ref, url } = await open().createCheckout(checkoutOrder())
  await pay(url)
  const { raw, signature } = await received
  const deps = { webhookSecrets: [WEBHOOK_SECRET], now }
  expect(verifyEvent(raw, signature, deps)).toMatchObject({
    type: 'checkout.session.completed',
    data: { object: { id: ref, metadata: { order_id: 'ord_1' } } },
  })
  const altered = Buffer.from(raw).fill(' ', raw.length - 1)
  expect(() => verifyEvent(altered, signature, deps)).toThrow('does not match')
  const later = () => new Date(Date.now() + 302_000)
  expect(() => verifyEvent(raw, signature, { ...deps, now: later })).toThrow('does not match')
})
