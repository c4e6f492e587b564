import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { type App, startApp } from '../../../test/support/app.ts'
import {
  ENCODINGS,
  parseResponse,
  post,
  problemFault,
  requestFrom,
  sendRaw,
} from '../../../test/support/http-client.ts'
import { openTestServer } from '../../../test/support/http-server.ts'
import { checkout, FAKE_SHOP, getOrder } from '../../../test/support/shop-client.ts'
import { stripeEnv } from '../../../test/support/stripe-app.ts'
import { newClient, PROXY, PROXY_ENV } from '../../../test/support/trusted-proxy.ts'
import { openStripeServer } from '../../pay/testing/stripe-server.ts'

let app: App
beforeAll(async () => {
  app = await startApp({ env: { ...PROXY_ENV, ...FAKE_SHOP } })
})
afterAll(() => app.stop())

const KEY = { 'idempotency-key': 'sixteen-at-least' }

describe('200', () => {
  test('tells the order, where to pay, and the secret, which nobody on the way may keep', async () => {
    const { body, status, headers } = await checkout(app.url, { plan: 'business' })
    assert.equal(status, 200)
    assert.equal(headers.get('cache-control'), 'no-store')
    const { order_id, claim_secret, ...rest } = body
    assert.match(String(order_id), /^ord_[A-Za-z0-9]{22}$/)
    assert.match(String(claim_secret), /^[A-Za-z0-9_-]{43}$/)
    assert.deepEqual(rest, {
      status: 'success',
      plan: 'business',
      plan_name: 'Business',
      price: { cents: 4_500, currency: 'usd', text: '45 USD', term: 'a year' },
      url: `${app.url}/pay/${order_id}`,
    })
  })

  test('takes its parameters in every encoding', async () => {
    for (const encoding of ENCODINGS) {
      const { status, text } = await post(`${app.url}/api/checkout`, { plan: 'starter' }, encoding)
      assert.equal(status, 200, `${encoding}: ${text}`)
    }
  })

  test('the same Idempotency-Key gets the same answer, also fifty times at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => checkout(app.url, { email: 'ann@buyer.example' }, KEY)),
    )
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  })

  async function secretsOf(port: number, clients: string[], from = PROXY): Promise<Set<string>> {
    const secrets = clients.map(async (client) => {
      const headers = {
        ...KEY,
        'x-forwarded-for': client,
        'content-type': 'application/x-www-form-urlencoded',
      }
      const question = { method: 'POST', path: '/api/checkout', headers, body: 'plan=starter' }
      const { body } = await requestFrom(port, from, question)
      return String(body['claim_secret'])
    })
    return new Set(await Promise.all(secrets))
  }

  test('the same Idempotency-Key of another client is another order', async () => {
    assert.equal((await secretsOf(app.httpPort, [newClient(), newClient()])).size, 2)
  })

  test('also behind a proxy that is not trusted: what it forwards keeps its clients apart', async () => {
    const [one, other] = [newClient(), newClient()]
    assert.equal((await secretsOf(app.httpPort, [one, other], '127.0.0.1')).size, 2)
    assert.equal((await secretsOf(app.httpPort, [one, one], '127.0.0.1')).size, 1)
  })

  test('also where no rates are counted', async () => {
    const env = { ...PROXY_ENV, ...FAKE_SHOP, MAYFLY_RATE_LIMITS: 'off' }
    const door = await openTestServer({ env })
    const [one, other] = [newClient(), newClient()]
    const heard = [await secretsOf(door.port, [one, other]), await secretsOf(door.port, [one, one])]
    await door.stop()
    assert.deepEqual(
      heard.map(({ size }) => size),
      [2, 1],
    )
  })

  for (const key of ['x'.repeat(16), '~'.repeat(255), '"quoted"!#$%&+-./:;']) {
    test(`an Idempotency-Key of ${key.length} characters is taken`, async () => {
      const { status } = await checkout(app.url, {}, { 'idempotency-key': key })
      assert.equal(status, 200)
    })
  }

  test('the operator’s address is where the buyer is sent, however we were reached', async () => {
    const door = await openTestServer({
      env: { ...FAKE_SHOP, MAYFLY_BASE_URL: 'https://mail.example' },
    })
    const { body } = await checkout(door.url)
    await door.stop()
    assert.equal(body['url'], `https://mail.example/pay/${body['order_id']}`)
  })
})

describe('400', () => {
  for (const [name, params, headers, code, words] of [
    ['no plan', { plan: '' }, {}, 'missing_parameter', /^plan: /],
    ['an unknown plan', { plan: 'gold' }, {}, 'invalid_parameter', /starter, business/],
    ['a plan by its name', { plan: 'Starter' }, {}, 'invalid_parameter', /^plan: /],
    ['no e-mail address', { email: 'ann' }, {}, 'invalid_parameter', /^email: /],
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
      'one with other letters',
      {},
      { 'idempotency-key': 'é'.repeat(20) },
      'invalid_parameter',
      /^Idem/,
    ],
    [
      'one with a space',
      {},
      { 'idempotency-key': 'of several words' },
      'invalid_parameter',
      /^Idem/,
    ],
    ['one with a comma', {}, { 'idempotency-key': 'x,'.repeat(8) }, 'invalid_parameter', /^Idem/],
    ['one with a tab', {}, { 'idempotency-key': 'x\tx'.repeat(8) }, 'invalid_parameter', /^Idem/],
  ] as const) {
    test(`${name} is refused`, async () => {
      const asked = await checkout(app.url, params, headers)
      assert.deepEqual([asked.status, asked.body['code']], [400, code])
      assert.match(String(asked.body['message']), words)
      assert.equal(problemFault(asked), undefined)
    })
  }

  test('an Idempotency-Key given twice is refused, so that nobody guesses which one counts', async () => {
    const lines = [
      'POST /api/checkout?plan=starter HTTP/1.1',
      'Host: mayfly.test',
      'Connection: close',
      'Content-Length: 0',
      `Idempotency-Key: ${'x'.repeat(20)}`,
      `Idempotency-Key: ${'y'.repeat(20)}`,
    ]
    const asked = parseResponse(await sendRaw(app.httpPort, `${lines.join('\r\n')}\r\n\r\n`))
    assert.deepEqual([asked.status, asked.body['code']], [400, 'invalid_parameter'])
  })
})

describe('404', () => {
  test('a site that issues keys by hand sells none, and says so', async () => {
    const door = await openTestServer()
    const asked = await checkout(door.url)
    await door.stop()
    assert.deepEqual([asked.status, asked.body['code']], [404, 'not_found'])
    assert.match(String(asked.body['message']), /operator/)
  })
})

describe('409', () => {
  test('the same Idempotency-Key for another plan', async () => {
    const headers = { 'idempotency-key': 'for-one-plan-only' }
    await checkout(app.url, {}, headers)
    const asked = await checkout(app.url, { plan: 'business' }, headers)
    assert.deepEqual([asked.status, asked.body['code']], [409, 'idempotency_conflict'])
    assert.equal(problemFault(asked), undefined)
    assert.ok(!('claim_secret' in asked.body))
  })
})

describe('429', () => {
  test('one client opens thirty checkouts a minute', async () => {
    const headers = {
      'x-forwarded-for': newClient(),
      'content-type': 'application/x-www-form-urlencoded',
    }
    const question = { method: 'POST', path: '/api/checkout', headers, body: 'plan=starter' }
    for (let count = 0; count < 30; count += 1) {
      assert.equal((await requestFrom(app.httpPort, PROXY, question)).status, 200)
    }
    const asked = await requestFrom(app.httpPort, PROXY, question)
    assert.deepEqual([asked.status, asked.body['code']], [429, 'rate_limited'])
  })
})

describe('503', () => {
  test('while Stripe is away, and the same request goes on with the same order later', async () => {
    const stripe = await openStripeServer({ now: () => new Date() })
    const door = await openTestServer({ env: stripeEnv(stripe) })
    stripe.outage = 'error'
    const asked = await checkout(door.url, {}, KEY)
    assert.deepEqual([asked.status, asked.body['code']], [503, 'payment_unavailable'])
    assert.equal(problemFault(asked), undefined)
    assert.doesNotMatch(JSON.stringify(asked.body), /stripe/i)

    stripe.outage = undefined
    const { body } = await checkout(door.url, {}, KEY)
    const order = { id: String(body['order_id']), secret: String(body['claim_secret']), payUrl: '' }
    const kept = await door.shop.listPurchases(10)
    const { status } = await getOrder(door.url, order)
    await door.stop()
    await stripe.close()
    assert.deepEqual([kept.length, status], [1, 200])
  })
})
