import { beforeAll, describe, expect, test } from 'vitest'
import { type App, sharedApp } from '../../../test/kit/app/app.ts'
import {
  ENCODINGS,
  parseResponse,
  post,
  problemFault,
  requestFrom,
  sendRaw,
} from '../../../test/kit/http/http-client.ts'
import { openTestServer } from '../../../test/kit/http/http-server.ts'
import { expectRate } from '../../../test/kit/http/rate.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/kit/http/trusted-proxy.ts'
import { checkout, FAKE_SHOP, getOrder } from '../../../test/kit/shop/shop-client.ts'
import { openStripeServer } from '../../../test/kit/shop/stripe/stripe-server.ts'
import { stripeEnv } from '../../../test/kit/shop/stripe-app.ts'

let app: App
beforeAll(async () => {
  app = await sharedApp({ ...PROXY_ENV, ...FAKE_SHOP })
})

const KEY = { 'idempotency-key': 'sixteen-at-least' }

describe('200', () => {
  test('the response has the order, the payment URL and the claim secret, and is not cached', async () => {
    const { body, status, headers } = await checkout(app.url, { plan: 'business' })
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    const { order_id, claim_secret, ...rest } = body
    expect(String(order_id)).toMatch(/^ord_[A-Za-z0-9]{22}$/)
    expect(String(claim_secret)).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(rest).toStrictEqual({
      status: 'success',
      plan: 'business',
      plan_name: 'Business',
      price: { cents: 4_500, currency: 'usd', text: '45 USD', term: 'a year' },
      url: `${app.url}/pay/${order_id}`,
    })
  })

  test('parameters are accepted in every encoding', async () => {
    for (const encoding of ENCODINGS) {
      const { status, text } = await post(`${app.url}/api/checkout`, { plan: 'starter' }, encoding)
      expect(status, `${encoding}: ${text}`).toBe(200)
    }
  })

  test('50 concurrent requests with one Idempotency-Key get the same response', async () => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => checkout(app.url, { email: 'ann@buyer.example' }, KEY)),
    )
    expect(new Set(responses.map(({ status }) => status))).toStrictEqual(new Set([200]))
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
  })

  async function secretsOf(port: number, clients: string[], from = PROXY): Promise<Set<string>> {
    const secrets = clients.map(async (client) => {
      const headers = {
        ...KEY,
        'x-forwarded-for': client,
        'content-type': 'application/x-www-form-urlencoded',
      }
      const options = { method: 'POST', path: '/api/checkout', headers, body: 'plan=starter' }
      const { body } = await requestFrom(port, from, options)
      return String(body['claim_secret'])
    })
    return new Set(await Promise.all(secrets))
  }

  test('the same Idempotency-Key from another client creates another order', async () => {
    expect((await secretsOf(app.httpPort, [newClient(), newClient()])).size).toBe(2)
  })

  test('clients behind an untrusted proxy are distinguished by X-Forwarded-For', async () => {
    const [one, other] = [newClient(), newClient()]
    expect((await secretsOf(app.httpPort, [one, other], '127.0.0.1')).size).toBe(2)
    expect((await secretsOf(app.httpPort, [one, one], '127.0.0.1')).size).toBe(1)
  })

  test('clients are distinguished when rate limits are off', async () => {
    const env = { ...PROXY_ENV, ...FAKE_SHOP, MAYFLY_RATE_LIMITS: 'off' }
    const server = await openTestServer({ env })
    const [one, other] = [newClient(), newClient()]
    const secretSets = [
      await secretsOf(server.port, [one, other]),
      await secretsOf(server.port, [one, one]),
    ]
    await server.stop()
    expect(secretSets.map(({ size }) => size)).toStrictEqual([2, 1])
  })

  for (const key of ['x'.repeat(16), '~'.repeat(255), '"quoted"!#$%&+-./:;']) {
    test(`an Idempotency-Key of ${key.length} characters is accepted`, async () => {
      const { status } = await checkout(app.url, {}, { 'idempotency-key': key })
      expect(status).toBe(200)
    })
  }

  test('the payment URL starts with MAYFLY_BASE_URL, whatever the host of the request', async () => {
    const server = await openTestServer({
      env: { ...FAKE_SHOP, MAYFLY_BASE_URL: 'https://mail.example' },
    })
    const { body } = await checkout(server.url)
    await server.stop()
    expect(body['url']).toBe(`https://mail.example/pay/${body['order_id']}`)
  })
})

describe('400', () => {
  for (const [name, params, headers, code, pattern] of [
    ['a missing plan', { plan: '' }, {}, 'missing_parameter', /^plan: /],
    ['an unknown plan', { plan: 'gold' }, {}, 'invalid_parameter', /starter, business/],
    ['a plan name in place of its id', { plan: 'Starter' }, {}, 'invalid_parameter', /^plan: /],
    ['an invalid email address', { email: 'ann' }, {}, 'invalid_parameter', /^email: /],
    [
      'a short Idempotency-Key',
      {},
      { 'idempotency-key': 'x'.repeat(15) },
      'invalid_parameter',
      /^Idem/,
    ],
    [
      'a long Idempotency-Key',
      {},
      { 'idempotency-key': 'x'.repeat(256) },
      'invalid_parameter',
      /^Idem/,
    ],
    ['an empty Idempotency-Key', {}, { 'idempotency-key': '' }, 'invalid_parameter', /^Idem/],
    [
      'an Idempotency-Key with non-ASCII characters',
      {},
      { 'idempotency-key': 'é'.repeat(20) },
      'invalid_parameter',
      /^Idem/,
    ],
    [
      'an Idempotency-Key with a space',
      {},
      { 'idempotency-key': 'of several words' },
      'invalid_parameter',
      /^Idem/,
    ],
    [
      'an Idempotency-Key with a comma',
      {},
      { 'idempotency-key': 'x,'.repeat(8) },
      'invalid_parameter',
      /^Idem/,
    ],
    [
      'an Idempotency-Key with a tab',
      {},
      { 'idempotency-key': 'x\tx'.repeat(8) },
      'invalid_parameter',
      /^Idem/,
    ],
  ] as const) {
    test(`${name} is refused`, async () => {
      const response = await checkout(app.url, params, headers)
      expect([response.status, response.body['code']]).toStrictEqual([400, code])
      expect(String(response.body['message'])).toMatch(pattern)
      expect(problemFault(response)).toBeUndefined()
    })
  }

  test('two Idempotency-Key headers are refused', async () => {
    const lines = [
      'POST /api/checkout?plan=starter HTTP/1.1',
      'Host: mayfly.test',
      'Connection: close',
      'Content-Length: 0',
      `Idempotency-Key: ${'x'.repeat(20)}`,
      `Idempotency-Key: ${'y'.repeat(20)}`,
    ]
    const response = parseResponse(await sendRaw(app.httpPort, `${lines.join('\r\n')}\r\n\r\n`))
    expect([response.status, response.body['code']]).toStrictEqual([400, 'invalid_parameter'])
  })
})

describe('404', () => {
  test('without a payment provider the message refers to the operator', async () => {
    const server = await openTestServer()
    const response = await checkout(server.url)
    await server.stop()
    expect([response.status, response.body['code']]).toStrictEqual([404, 'not_found'])
    expect(String(response.body['message'])).toMatch(/operator/)
  })
})

describe('409', () => {
  test('an Idempotency-Key cannot be reused for another plan', async () => {
    const headers = { 'idempotency-key': 'for-one-plan-only' }
    await checkout(app.url, {}, headers)
    const response = await checkout(app.url, { plan: 'business' }, headers)
    expect([response.status, response.body['code']]).toStrictEqual([409, 'idempotency_conflict'])
    expect(problemFault(response)).toBeUndefined()
    expect('claim_secret' in response.body).toBeFalsy()
  })
})

describe('429', () => {
  test('a client can create 30 checkouts a minute', async () => {
    const headers = {
      'x-forwarded-for': newClient(),
      'content-type': 'application/x-www-form-urlencoded',
    }
    const options = { method: 'POST', path: '/api/checkout', headers, body: 'plan=starter' }
    await expectRate({ count: 30, seconds: 2 }, async () => {
      const { status, body } = await requestFrom(app.httpPort, PROXY, options)
      if (status !== 200) expect([status, body['code']]).toStrictEqual([429, 'rate_limited'])
      return status === 200
    })
  })
})

describe('503', () => {
  test('checkout is refused while Stripe is unavailable, and a retry continues the same order', async () => {
    const stripe = await openStripeServer({ now: () => new Date() })
    const server = await openTestServer({ env: stripeEnv(stripe) })
    stripe.outage = 'error'
    const response = await checkout(server.url, {}, KEY)
    expect([response.status, response.body['code']]).toStrictEqual([503, 'payment_unavailable'])
    expect(problemFault(response)).toBeUndefined()
    expect(JSON.stringify(response.body)).not.toMatch(/stripe/i)

    stripe.outage = undefined
    const { body } = await checkout(server.url, {}, KEY)
    const order = { id: String(body['order_id']), secret: String(body['claim_secret']), payUrl: '' }
    const orders = await server.shop.listOrders({ limit: 10 })
    const { status } = await getOrder(server.url, order)
    await server.stop()
    await stripe.close()
    expect([orders.length, status]).toStrictEqual([1, 200])
  })
})
