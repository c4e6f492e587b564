import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, onTestFinished, test } from 'vitest'
import { problemFault, request, type TestResponse } from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { claim, createOrder, getOrder } from '../../../test/support/shop-client.ts'
import { runSql } from '../../../test/support/sql.ts'
import { type StripeApp, startStripeApp } from '../../../test/support/stripe-app.ts'
import { PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import type { SignOptions } from '../../pay/testing/stripe-server.ts'

let app: StripeApp
beforeAll(async () => {
  app = await startStripeApp({ env: PROXY_ENV })
})
afterAll(() => app.stop())
beforeEach(() => {
  app.stripe.take()
  app.stripe.outage = undefined
})

/** An order that Stripe knows to be paid, and the event that says so, not told yet. */
async function paidEvent(plan = 'starter') {
  const made = await createOrder(app.url, { plan })
  const [session = ''] = app.stripe.sessionsOf(made.id)
  app.stripe.take()
  app.stripe.pay(session)
  const event = app.stripe.take().find(({ type }) => type === 'checkout.session.completed')
  assert.ok(event)
  return { made, event, session }
}

const stateOf = async (made: Parameters<typeof getOrder>[1]) =>
  (await getOrder(app.url, made)).body['state']

async function send(body: string, headers: Record<string, string>): Promise<TestResponse> {
  return await request(app.webhook, { method: 'POST', body, headers })
}

function signed(text: string, options?: SignOptions): Record<string, string> {
  return { 'stripe-signature': app.stripe.sign(text, options).signature }
}

describe('200', () => {
  test('after it is on disk', async () => {
    const { made, event } = await paidEvent()
    const { body, signature } = app.stripe.sign(event)
    const asked = await send(body, { 'stripe-signature': signature })
    assert.deepEqual([asked.status, asked.body], [200, { status: 'success' }])
    assert.equal(await stateOf(made), 'paid')
    assert.equal((await claim(app.url, made)).status, 200)
  })

  test('under any media type, or none: the body is bytes', async () => {
    for (const type of ['application/json; charset=utf-8', 'text/plain', 'nonsense']) {
      const { event } = await paidEvent()
      const { body, signature } = app.stripe.sign(event)
      const headers = { 'stripe-signature': signature, 'content-type': type }
      assert.equal((await send(body, headers)).status, 200, type)
    }
  })

  test('of the former secret too, while it is being changed', async () => {
    const two = await startStripeApp({
      env: { MAYFLY_STRIPE_WEBHOOK_SECRET: 'whsec_new, whsec_old' },
    })
    onTestFinished(() => two.stop())
    const made = await createOrder(two.url)
    two.stripe.pay(two.stripe.sessionsOf(made.id)[0] ?? '')
    for (const [at, event] of two.stripe.take().entries()) {
      const secret = at % 2 === 0 ? 'whsec_old' : 'whsec_new'
      assert.equal(await two.stripe.deliver(two.webhook, event, { secret }), 200)
    }
    const { body } = await getOrder(two.url, made)
    assert.equal(body['state'], 'paid')
  })

  for (const [name, change] of [
    ['of a type that changes no order', { type: 'customer.created' }],
    ['of the other mode', { livemode: true }],
    ['of another account', { account: 'acct_other' }],
  ] as const) {
    test(`an event ${name} is taken and changes nothing`, async () => {
      const { made, event } = await paidEvent()
      const text = JSON.stringify({ ...event, ...change })
      assert.equal((await send(text, signed(text))).status, 200)
      assert.equal(await stateOf(made), 'open')
    })
  }

  test('an event of an order that is not ours is taken and changes nothing', async () => {
    const { made, event } = await paidEvent()
    const text = JSON.stringify(event)
      .replaceAll(made.id, `ord_${'0'.repeat(22)}`)
      .replaceAll(/cs_\w+/g, 'cs_unknown')
    assert.equal((await send(text, signed(text))).status, 200)
    assert.equal(await stateOf(made), 'open')
  })

  test('a signed lie about an order is believed by nobody: Stripe is asked', async () => {
    const made = await createOrder(app.url)
    const [session = ''] = app.stripe.sessionsOf(made.id)
    const lie = {
      ...app.stripe.read('checkout.session', session),
      status: 'complete',
      payment_status: 'paid',
    }
    const text = JSON.stringify({
      id: 'evt_lie',
      object: 'event',
      type: 'checkout.session.completed',
      livemode: false,
      data: { object: lie },
    })
    assert.equal((await send(text, signed(text))).status, 200)
    assert.equal(await stateOf(made), 'open')
  })
})

describe('400', () => {
  for (const [name, forge] of [
    ['no signature', () => ({})],
    ['an empty signature', () => ({ 'stripe-signature': '' })],
    ['a signature of another secret', (text: string) => signed(text, { secret: 'whsec_other' })],
    ['an old scheme', (text: string) => signed(text, { scheme: 'v0' })],
    ['a signature of 301 seconds ago', (text: string) => signed(text, { at: shifted(-301) })],
    ['a signature of a time to come', (text: string) => signed(text, { at: shifted(301) })],
    ['another body’s signature', () => signed('{}')],
    ['nonsense', () => ({ 'stripe-signature': 't=x,v1=y' })],
  ] as const) {
    test(`${name} is refused, and nothing is paid`, async () => {
      const { made, event } = await paidEvent()
      const { body } = app.stripe.sign(event)
      const asked = await send(body, forge(body))
      assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
      assert.match(String(asked.body['message']), /^Stripe-Signature: /)
      assert.equal(problemFault(asked), undefined)
      assert.equal(await stateOf(made), 'open')
    })
  }

  for (const [name, alter] of [
    ['one character changed', (body: string) => body.replace('"paid"', '"unpaid"')],
    ['written anew', (body: string) => JSON.stringify(JSON.parse(body))],
    ['with a space at the end', (body: string) => `${body} `],
  ] as const) {
    test(`a body ${name} is refused`, async () => {
      const { made, event } = await paidEvent()
      const { body, signature } = app.stripe.sign(event)
      assert.notEqual(alter(body), body)
      const asked = await send(alter(body), { 'stripe-signature': signature })
      assert.equal(asked.status, 400)
      assert.equal(await stateOf(made), 'open')
    })
  }

  for (const text of ['', '{}', '[]', 'null', '"evt"', '{"id":1,"type":2}', '{"id":']) {
    test(`${JSON.stringify(text)}, signed, is no event`, async () => {
      const asked = await send(text, signed(text))
      assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
    })
  }
})

describe('404', () => {
  for (const provider of ['manual', 'fake']) {
    test(`where plans are sold as ${provider}`, async () => {
      const door = await openTestServer({ env: { MAYFLY_PAYMENTS: provider } })
      onTestFinished(() => door.stop())
      const asked = await request(`${door.url}/api/stripe/webhook`, { method: 'POST', body: '{}' })
      assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
    })
  }
})

describe('500', () => {
  test('when it cannot be written; the event counts when it comes again', async () => {
    const { made, event } = await paidEvent()
    await runSql(app, 'shop', 'alter table api_key rename to canary')
    const { body, signature } = app.stripe.sign(event)
    const asked = await send(body, { 'stripe-signature': signature })
    await runSql(app, 'shop', 'alter table canary rename to api_key')
    assert.deepEqual([asked.status, asked.body['code']], [500, 'internal'])
    assert.doesNotMatch(asked.text, /api_key|canary/)
    assert.equal(await stateOf(made), 'open')
    assert.equal((await send(body, { 'stripe-signature': signature })).status, 200)
    assert.equal(await stateOf(made), 'paid')
  })
})

describe('503', () => {
  test('while Stripe cannot be asked; the event counts when it comes again', async () => {
    const { made, event } = await paidEvent()
    app.stripe.outage = 'error'
    const { body, signature } = app.stripe.sign(event)
    const asked = await send(body, { 'stripe-signature': signature })
    assert.deepEqual([asked.status, asked.body['code']], [503, 'payment_unavailable'])
    assert.equal(await stateOf(made), 'open')
    app.stripe.outage = undefined
    assert.equal((await send(body, { 'stripe-signature': signature })).status, 200)
    assert.equal(await stateOf(made), 'paid')
  })
})

function shifted(seconds: number): Date {
  return new Date(app.now().getTime() + seconds * 1_000)
}
