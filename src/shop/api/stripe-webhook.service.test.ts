import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { problemFault, request, type TestResponse } from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { claim, createOrder, getOrder } from '../../../test/kit/shop/shop-client.ts'
import type { SignOptions } from '../../../test/kit/shop/stripe/stripe-server.ts'
import { type StripeApp, startStripeApp } from '../../../test/kit/shop/stripe-app.ts'
import { runSql } from '../../../test/kit/store/sql.ts'

let app: StripeApp
beforeAll(async () => {
  app = await startStripeApp({ env: PROXY_ENV })
})
afterAll(() => app.stop())
beforeEach(() => {
  app.stripe.take()
  app.stripe.outage = undefined
})

/** An order that is paid at Stripe, and its event, not delivered yet. */
async function paidEvent(plan = 'starter') {
  const order = await createOrder(app.url, { plan })
  const [session = ''] = app.stripe.sessionsOf(order.id)
  app.stripe.take()
  app.stripe.pay(session)
  const event = app.stripe.take().find(({ type }) => type === 'checkout.session.completed')
  expect.assert(event)
  return { order, event, session }
}

const stateOf = async (order: Parameters<typeof getOrder>[1]) =>
  (await getOrder(app.url, order)).body['state']

async function send(body: string, headers: Record<string, string>): Promise<TestResponse> {
  return await request(app.webhook, { method: 'POST', body, headers })
}

function signed(text: string, options?: SignOptions): Record<string, string> {
  return { 'stripe-signature': app.stripe.sign(text, options).signature }
}

describe('200', () => {
  test('an event is acknowledged after the payment is stored', async () => {
    const { order, event } = await paidEvent()
    const { body, signature } = app.stripe.sign(event)
    const response = await send(body, { 'stripe-signature': signature })
    expect([response.status, response.body]).toStrictEqual([200, { status: 'success' }])
    expect(await stateOf(order)).toBe('paid')
    expect((await claim(app.url, order)).status).toBe(200)
  })

  test('any media type is accepted', async () => {
    for (const type of ['application/json; charset=utf-8', 'text/plain', 'nonsense']) {
      const { event } = await paidEvent()
      const { body, signature } = app.stripe.sign(event)
      const headers = { 'stripe-signature': signature, 'content-type': type }
      expect((await send(body, headers)).status, type).toBe(200)
    }
  })

  test('both webhook secrets are accepted during rotation', async () => {
    const rotating = await startStripeApp({
      env: { MAYFLY_STRIPE_WEBHOOK_SECRET: 'whsec_new, whsec_old' },
    })
    onTestFinished(() => rotating.stop())
    const order = await createOrder(rotating.url)
    rotating.stripe.pay(rotating.stripe.sessionsOf(order.id)[0] ?? '')
    for (const [index, event] of rotating.stripe.take().entries()) {
      const secret = index % 2 === 0 ? 'whsec_old' : 'whsec_new'
      expect(await rotating.stripe.deliver(rotating.webhook, event, { secret })).toBe(200)
    }
    const { body } = await getOrder(rotating.url, order)
    expect(body['state']).toBe('paid')
  })

  for (const [name, change] of [
    ['of an unrelated type', { type: 'customer.created' }],
    ['of 200 KB and 50,000 fields', { type: 'customer.created', more: Array(50_000).fill(123) }],
    ['of the other mode', { livemode: true }],
    ['of another account', { account: 'acct_other' }],
  ] as const) {
    test(`an event ${name} is acknowledged and changes nothing`, async () => {
      const { order, event } = await paidEvent()
      const text = JSON.stringify({ ...event, ...change })
      expect((await send(text, signed(text))).status).toBe(200)
      expect(await stateOf(order)).toBe('open')
    })
  }

  test('an event of an unknown order is acknowledged and changes nothing', async () => {
    const { order, event } = await paidEvent()
    const text = JSON.stringify(event)
      .replaceAll(order.id, `ord_${'0'.repeat(22)}`)
      .replaceAll(/cs_\w+/g, 'cs_unknown')
    expect((await send(text, signed(text))).status).toBe(200)
    expect(await stateOf(order)).toBe('open')
  })

  test('the state of an order is read from Stripe, not from a signed event', async () => {
    const order = await createOrder(app.url)
    const [session = ''] = app.stripe.sessionsOf(order.id)
    const forged = {
      ...app.stripe.read('checkout.session', session),
      status: 'complete',
      payment_status: 'paid',
    }
    const text = JSON.stringify({
      id: 'evt_lie',
      object: 'event',
      type: 'checkout.session.completed',
      livemode: false,
      data: { object: forged },
    })
    expect((await send(text, signed(text))).status).toBe(200)
    expect(await stateOf(order)).toBe('open')
  })
})

describe('400', () => {
  for (const [name, forge] of [
    ['a missing signature', () => ({})],
    ['an empty signature', () => ({ 'stripe-signature': '' })],
    ['a signature of another secret', (text: string) => signed(text, { secret: 'whsec_other' })],
    ['an old scheme', (text: string) => signed(text, { scheme: 'v0' })],
    ['a signature of 301 seconds ago', (text: string) => signed(text, { at: shifted(-301) })],
    ['a signature 301 seconds in the future', (text: string) => signed(text, { at: shifted(301) })],
    ['another body’s signature', () => signed('{}')],
    [
      'a very long signature',
      (text: string) => ({
        'stripe-signature': app.stripe.sign(text).signature.padEnd(2_001, ','),
      }),
    ],
    ['a malformed signature', () => ({ 'stripe-signature': 't=x,v1=y' })],
  ] as const) {
    test(`${name} is refused, and nothing is paid`, async () => {
      const { order, event } = await paidEvent()
      const { body } = app.stripe.sign(event)
      const response = await send(body, forge(body))
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
      expect(String(response.body['message'])).toMatch(/^Stripe-Signature: /)
      expect(problemFault(response)).toBeUndefined()
      expect(await stateOf(order)).toBe('open')
    })
  }

  for (const [name, alter] of [
    ['with a changed value', (body: string) => body.replace('"paid"', '"unpaid"')],
    ['that was reserialized', (body: string) => JSON.stringify(JSON.parse(body))],
    ['with a trailing space', (body: string) => `${body} `],
  ] as const) {
    test(`a body ${name} is refused`, async () => {
      const { order, event } = await paidEvent()
      const { body, signature } = app.stripe.sign(event)
      expect(alter(body)).not.toBe(body)
      const response = await send(alter(body), { 'stripe-signature': signature })
      expect(response.status).toBe(400)
      expect(await stateOf(order)).toBe('open')
    })
  }

  for (const text of ['', '{}', '[]', 'null', '"evt"', '{"id":1,"type":2}', '{"id":']) {
    test(`signed ${JSON.stringify(text)} is not an event`, async () => {
      const response = await send(text, signed(text))
      expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
    })
  }
})

describe('404', () => {
  for (const provider of ['manual', 'fake']) {
    test(`there is no webhook with the ${provider} provider`, async () => {
      const server = await openTestServer({ env: { MAYFLY_PAYMENTS: provider } })
      onTestFinished(() => server.stop())
      const response = await request(`${server.url}/api/stripe/webhook`, {
        method: 'POST',
        body: '{}',
      })
      expect([response.status, response.body['code']]).toStrictEqual([404, 'not_found'])
    })
  }
})

describe('500', () => {
  test('an event that cannot be stored is applied when redelivered', async () => {
    const { order, event } = await paidEvent()
    await runSql(app, 'shop', 'alter table api_key rename to canary')
    const { body, signature } = app.stripe.sign(event)
    const response = await send(body, { 'stripe-signature': signature })
    await runSql(app, 'shop', 'alter table canary rename to api_key')
    expect([response.status, response.body['code']]).toStrictEqual([500, 'internal'])
    expect(response.text).not.toMatch(/api_key|canary/)
    expect(await stateOf(order)).toBe('open')
    expect((await send(body, { 'stripe-signature': signature })).status).toBe(200)
    expect(await stateOf(order)).toBe('paid')
  })
})

describe('503', () => {
  test('an event received while Stripe is unavailable is applied when redelivered', async () => {
    const { order, event } = await paidEvent()
    app.stripe.outage = 'error'
    const { body, signature } = app.stripe.sign(event)
    const response = await send(body, { 'stripe-signature': signature })
    expect([response.status, response.body['code']]).toStrictEqual([503, 'payment_unavailable'])
    expect(await stateOf(order)).toBe('open')
    app.stripe.outage = undefined
    expect((await send(body, { 'stripe-signature': signature })).status).toBe(200)
    expect(await stateOf(order)).toBe('paid')
  })
})

function shifted(seconds: number): Date {
  return new Date(app.now().getTime() + seconds * 1_000)
}
