import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '../core/problem.ts'
import { openStripe } from './stripe.ts'
import {
  checkoutOrder,
  openStripeFixture,
  planById,
  type StripeFixture,
} from './testing/stripe-shop.ts'

let shop: StripeFixture
beforeEach(async () => {
  shop = await openStripeFixture()
})
afterEach(async () => await shop.server.close())

/** What was asked for, as plain text: `mode=payment`. */
function asked(): string[] {
  const { params = '' } = shop.server.requests.at(-1) ?? {}
  return [...new URLSearchParams(params)].map(([name, value]) => `${name}=${value}`)
}

test('a plan that is paid once is sold in payment mode, with the order on the payment', async () => {
  const { ref, url } = await shop.pay.open({ ...checkoutOrder(), email: 'ann@buyer.example' })
  expect(asked().sort()).toEqual([
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

test('a plan that renews is sold as a subscription, with the order on it', async () => {
  await shop.pay.open(checkoutOrder('business'))
  expect(asked()).toEqual(
    expect.arrayContaining([
      'mode=subscription',
      'line_items[0][price_data][unit_amount]=4500',
      'line_items[0][price_data][recurring][interval]=year',
      'line_items[0][price_data][recurring][interval_count]=1',
      'subscription_data[metadata][order_id]=ord_1',
    ]),
  )
  expect(asked().join()).not.toContain('payment_intent_data')
  expect(asked().join()).not.toContain('customer_email')
})

for (const [months, interval, count] of [
  [1, 'month', 1],
  [6, 'month', 6],
  [12, 'year', 1],
  [18, 'month', 18],
  [24, 'year', 2],
] as const) {
  test(`${months} months are billed every ${count} ${interval}`, async () => {
    await shop.pay.open(checkoutOrder({ ...planById('business'), months }))
    expect(asked()).toContain(`line_items[0][price_data][recurring][interval]=${interval}`)
    expect(asked()).toContain(`line_items[0][price_data][recurring][interval_count]=${count}`)
  })
}

test('asked again for the same order, the same session answers', async () => {
  const first = await shop.pay.open(checkoutOrder())
  expect(await shop.pay.open(checkoutOrder())).toEqual(first)
  expect(await shop.pay.open({ ...checkoutOrder(), id: 'ord_2' })).not.toEqual(first)
  expect(shop.server.sessionsOf('ord_1')).toEqual([first.ref])
})

test('fifty who ask at once for one order get one session', async () => {
  const opened = await Promise.all(Array.from({ length: 50 }, () => shop.pay.open(checkoutOrder())))
  expect(new Set(opened.map(({ ref }) => ref)).size).toBe(1)
})

describe('prices of the dashboard', () => {
  beforeEach(() => {
    shop.server.addPrice({ id: 'price_five', currency: 'usd', unitAmount: 500, months: undefined })
    shop.server.addPrice({ id: 'price_year', currency: 'usd', unitAmount: 4_500, months: 12 })
    shop.server.addPrice({ id: 'price_cheap', currency: 'usd', unitAmount: 100, months: undefined })
    shop.server.addPrice({ id: 'price_euro', currency: 'eur', unitAmount: 500, months: undefined })
  })
  const opened = (prices: Record<string, string>, plan: string) =>
    openStripe({ ...shop.options, prices }).open(checkoutOrder(plan))

  test('the one of the plan is used, and nothing is made inline', async () => {
    const prices = { starter: 'price_five', business: 'price_year' }
    await opened(prices, 'starter')
    expect(asked()).toContain('line_items[0][price]=price_five')
    expect(asked().join()).not.toContain('price_data')
  })

  test('a plan without one is made inline', async () => {
    await opened({ business: 'price_year' }, 'starter')
    expect(asked()).toContain('line_items[0][price_data][unit_amount]=500')
  })

  for (const [price, sentence] of [
    ['price_cheap', 'Stripe would take 100 usd for the plan starter, which costs 500 usd'],
    ['price_euro', 'Stripe would take 500 eur for the plan starter, which costs 500 usd'],
  ] as const) {
    test(`${price} is not the plan's price: nothing is sold with it`, async () => {
      await expect(opened({ starter: price }, 'starter')).rejects.toThrow(sentence)
    })
  }

  for (const price of ['price_nowhere', 'price_year']) {
    test(`${price} cannot be sold in payment mode: the buyer hears only that it fails`, async () => {
      await expect(opened({ starter: price }, 'starter')).rejects.toMatchObject({
        code: 'payment_unavailable',
      })
    })
  }
})

describe('a provider that fails', () => {
  for (const outage of ['error', 'hang-up'] as const) {
    test(`${outage}: try again later`, async () => {
      shop.server.outage = outage
      const problem = await failure(shop.pay.open(checkoutOrder()))
      expect(problem).toMatchObject({ code: 'payment_unavailable', retryAfter: 30 })
      expect(problem.cause).toBeInstanceOf(Error)
    })
  }

  test('after it recovers, the order can be opened', async () => {
    shop.server.outage = 'hang-up'
    await failure(shop.pay.open(checkoutOrder()))
    shop.server.outage = undefined
    expect((await shop.pay.open(checkoutOrder())).ref).toMatch(/^cs_test_/)
  })

  test('nobody is there at all: try again later', async () => {
    const pay = openStripe({ ...shop.options, apiUrl: 'http://127.0.0.1:1' })
    expect(await failure(pay.open(checkoutOrder()))).toMatchObject({ code: 'payment_unavailable' })
  })

  test('a wrong secret key is told to the log, without the key', async () => {
    const secretKey = 'sk_test_canary0secret0key'
    const problem = await failure(openStripe({ ...shop.options, secretKey }).open(checkoutOrder()))
    expect(problem.code).toBe('payment_unavailable')
    expect(problem.cause).toMatchObject({ message: expect.stringContaining('Invalid API Key') })
    const told = `${problem.message} ${problem.stack} ${String(problem.cause)}`
    expect(`${told} ${JSON.stringify(problem)}`).not.toMatch(/canary|\bsk_/)
  })

  test('an address that Stripe does not take is the buyer’s to correct', async () => {
    const opened = shop.pay.open({ ...checkoutOrder(), email: 'ann@localhost' })
    expect(await failure(opened)).toMatchObject({
      code: 'invalid_parameter',
      message: 'email: Stripe does not take this e-mail address.',
    })
  })
})

async function failure(promise: Promise<unknown>): Promise<Problem> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Problem) return error
  throw new Error('it was meant to fail', { cause: error })
}
