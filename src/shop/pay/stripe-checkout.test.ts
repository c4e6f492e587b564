import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '../../base/problem.ts'
import { openStripe } from './stripe.ts'
import {
  checkoutOrder,
  openStripeFixture,
  planById,
  type StripeFixture,
} from './testing/stripe-fixture.ts'

let shop: StripeFixture
beforeEach(async () => {
  shop = await openStripeFixture()
})
afterEach(async () => await shop.server.close())

/** The parameters of the last request: `mode=payment`. */
function params(): string[] {
  const last = shop.server.requests.at(-1)
  return [...new URLSearchParams(last?.params)].map(([name, value]) => `${name}=${value}`)
}

test('a one-time plan uses payment mode, with the order id in the metadata of the payment', async () => {
  const { ref, url } = await shop.pay.createCheckout({
    ...checkoutOrder(),
    email: 'ann@buyer.example',
  })
  expect(params().sort()).toEqual([
    'cancel_url=https://mail.example/pricing',
    'client_reference_id=ord_1',
    'customer_email=ann@buyer.example',
    'line_items[0][price_data][currency]=usd',
    'line_items[0][price_data][product_data][name]=Starter',
    'line_items[0][price_data][unit_amount]=500',
    'line_items[0][quantity]=1',
    'metadata[order_id]=ord_1',
    'mode=payment',
    'payment_intent_data[metadata][order_id]=ord_1',
    'success_url=https://mail.example/orders/ord_1',
  ])
  expect(shop.server.read('checkout.session', ref)).toMatchObject({ amount_total: 500, url })
})

test('a renewing plan uses subscription mode, with the order id in its metadata', async () => {
  await shop.pay.createCheckout(checkoutOrder('business'))
  expect(params()).toEqual(
    expect.arrayContaining([
      'mode=subscription',
      'line_items[0][price_data][unit_amount]=4500',
      'line_items[0][price_data][recurring][interval]=year',
      'line_items[0][price_data][recurring][interval_count]=1',
      'subscription_data[metadata][order_id]=ord_1',
    ]),
  )
  expect(params().join()).not.toContain('payment_intent_data')
  expect(params().join()).not.toContain('customer_email')
})

for (const [months, interval, count] of [
  [1, 'month', 1],
  [6, 'month', 6],
  [12, 'year', 1],
  [18, 'month', 18],
  [24, 'year', 2],
] as const) {
  test(`${months} months are billed every ${count} ${interval}`, async () => {
    await shop.pay.createCheckout(checkoutOrder({ ...planById('business'), months }))
    expect(params()).toContain(`line_items[0][price_data][recurring][interval]=${interval}`)
    expect(params()).toContain(`line_items[0][price_data][recurring][interval_count]=${count}`)
  })
}

test('a repeated call for an order returns the same session', async () => {
  const first = await shop.pay.createCheckout(checkoutOrder())
  expect(await shop.pay.createCheckout(checkoutOrder())).toEqual(first)
  expect(await shop.pay.createCheckout({ ...checkoutOrder(), id: 'ord_2' })).not.toEqual(first)
  expect(shop.server.sessionsOf('ord_1')).toEqual([first.ref])
})

test('50 concurrent calls for one order create one session', async () => {
  const opened = await Promise.all(
    Array.from({ length: 50 }, () => shop.pay.createCheckout(checkoutOrder())),
  )
  expect(new Set(opened.map(({ ref }) => ref)).size).toBe(1)
})

describe('configured prices', () => {
  beforeEach(() => {
    shop.server.addPrice({ id: 'price_five', currency: 'usd', unitAmount: 500, months: undefined })
    shop.server.addPrice({ id: 'price_year', currency: 'usd', unitAmount: 4_500, months: 12 })
    shop.server.addPrice({ id: 'price_cheap', currency: 'usd', unitAmount: 100, months: undefined })
    shop.server.addPrice({ id: 'price_euro', currency: 'eur', unitAmount: 500, months: undefined })
  })
  const opened = (prices: Record<string, string>, plan: string) =>
    openStripe({ ...shop.options, prices }).createCheckout(checkoutOrder(plan))

  test('the configured price is used instead of an inline one', async () => {
    const prices = { starter: 'price_five', business: 'price_year' }
    await opened(prices, 'starter')
    expect(params()).toContain('line_items[0][price]=price_five')
    expect(params().join()).not.toContain('price_data')
  })

  test('a plan without a configured price uses an inline one', async () => {
    await opened({ business: 'price_year' }, 'starter')
    expect(params()).toContain('line_items[0][price_data][unit_amount]=500')
  })

  for (const [price, sentence] of [
    ['price_cheap', 'Stripe charges 100 usd for plan starter, but its price is 500 usd'],
    ['price_euro', 'Stripe charges 500 eur for plan starter, but its price is 500 usd'],
  ] as const) {
    test(`${price} differs from the price of the plan: the sale is refused`, async () => {
      await expect(opened({ starter: price }, 'starter')).rejects.toThrow(sentence)
    })
  }

  for (const price of ['price_nowhere', 'price_year']) {
    test(`${price} is refused by Stripe: the buyer gets payment_unavailable`, async () => {
      await expect(opened({ starter: price }, 'starter')).rejects.toMatchObject({
        code: 'payment_unavailable',
      })
    })
  }
})

describe('while Stripe fails', () => {
  for (const outage of ['error', 'hang-up'] as const) {
    test(`${outage}: payment_unavailable with Retry-After`, async () => {
      shop.server.outage = outage
      const problem = await failure(shop.pay.createCheckout(checkoutOrder()))
      expect(problem).toMatchObject({ code: 'payment_unavailable', retryAfter: 30 })
      expect(problem.cause).toBeInstanceOf(Error)
    })
  }

  test('the order can be opened after recovery', async () => {
    shop.server.outage = 'hang-up'
    await failure(shop.pay.createCheckout(checkoutOrder()))
    shop.server.outage = undefined
    expect((await shop.pay.createCheckout(checkoutOrder())).ref).toMatch(/^cs_test_/)
  })

  test('connection refused: payment_unavailable', async () => {
    const pay = openStripe({ ...shop.options, apiUrl: 'http://127.0.0.1:1' })
    expect(await failure(pay.createCheckout(checkoutOrder()))).toMatchObject({
      code: 'payment_unavailable',
    })
  })

  test('an invalid secret key is reported as the cause, without the key', async () => {
    const secretKey = 'sk_test_canary0secret0key'
    const problem = await failure(
      openStripe({ ...shop.options, secretKey }).createCheckout(checkoutOrder()),
    )
    expect(problem.code).toBe('payment_unavailable')
    expect(problem.cause).toMatchObject({ message: expect.stringContaining('Invalid API Key') })
    const reported = `${problem.message} ${problem.stack} ${String(problem.cause)}`
    expect(`${reported} ${JSON.stringify(problem)}`).not.toMatch(/canary|\bsk_/)
  })

  test('an email address rejected by Stripe is invalid_parameter', async () => {
    const opened = shop.pay.createCheckout({ ...checkoutOrder(), email: 'ann@localhost' })
    expect(await failure(opened)).toMatchObject({
      code: 'invalid_parameter',
      message: 'email: not accepted by Stripe.',
    })
  })
})

async function failure(promise: Promise<unknown>): Promise<Problem> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Problem) return error
  throw new Error('expected a Problem', { cause: error })
}
