import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { PaymentFacts } from '../rules.ts'
import { type Ordered, openStripeFixture, type StripeFixture } from './testing/stripe-fixture.ts'

let shop: StripeFixture
beforeEach(async () => {
  shop = await openStripeFixture()
})
afterEach(async () => await shop.server.close())

const read = (order: Ordered) => shop.remote.fetchFacts(order)

function move(to: string): void {
  shop.clock.now = new Date(to)
}

/** The facts on one line: `paid expected: 2027-03-05 no no, …`. */
function line({ state, renewal, payments }: PaymentFacts): string {
  const paid = payments.map(
    ({ paidAt, refunded, disputed }) =>
      `${paidAt.toISOString().slice(0, 10)} ${refunded} ${disputed}`,
  )
  return `${state} ${renewal}: ${paid.join(', ')}`
}

describe('a one-time plan', () => {
  let order: Ordered
  beforeEach(async () => {
    order = await shop.createOrder('starter')
  })
  const charge = () => shop.server.chargesOf(order.checkoutRef)[0] ?? ''

  test('goes from open to paid', async () => {
    expect(line(await read(order))).toBe('open none: ')
    shop.server.pay(order.checkoutRef)
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no no')
  })

  test('goes from open to pending to paid', async () => {
    shop.server.payLater(order.checkoutRef)
    expect(line(await read(order))).toBe('pending none: ')
    move('2027-03-09T10:00:00Z')
    shop.server.succeed(order.checkoutRef)
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no no')
  })

  test('fails if the payment fails', async () => {
    shop.server.payLater(order.checkoutRef)
    shop.server.fail(order.checkoutRef)
    expect(line(await read(order))).toBe('failed none: ')
  })

  test('expires', async () => {
    shop.server.expire(order.checkoutRef)
    expect(line(await read(order))).toBe('expired none: ')
  })

  test('is refunded partly, then fully; a failed refund is reverted', async () => {
    shop.server.pay(order.checkoutRef)
    shop.server.refund(charge(), 200)
    expect(line(await read(order))).toBe('paid none: 2027-03-05 partly no')
    const last = shop.server.refund(charge())
    expect(line(await read(order))).toBe('paid none: 2027-03-05 fully no')
    shop.server.failRefund(last)
    expect(line(await read(order))).toBe('paid none: 2027-03-05 partly no')
  })

  test('is disputed and won, then disputed again and lost', async () => {
    shop.server.pay(order.checkoutRef)
    const first = shop.server.dispute(charge())
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no open')
    shop.server.win(first)
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no no')
    shop.server.lose(shop.server.dispute(charge()))
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no lost')
  })

  test('a bank inquiry is not a dispute', async () => {
    shop.server.pay(order.checkoutRef)
    const inquiry = shop.server.dispute(charge(), 'warning_needs_response')
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no no')
    shop.server.moveDispute(inquiry, 'warning_closed')
    expect(line(await read(order))).toBe('paid none: 2027-03-05 no no')
  })

  for (const [name, tamper] of [
    ['the amount of the session', { amount_total: 1 }],
    ['the order of the session', { metadata: { order_id: 'ord_999' } }],
    ['the currency of the session', { currency: 'jpy' }],
    ['the mode of the session', { livemode: true }],
  ] as const) {
    test(`does not count if ${name} was changed`, async () => {
      shop.server.pay(order.checkoutRef)
      shop.server.overwrite('checkout.session', order.checkoutRef, tamper)
      expect(line(await read(order))).toBe('failed none: ')
    })
  }

  test('does not count if less was received than the session says', async () => {
    shop.server.pay(order.checkoutRef)
    const { payment_intent } = shop.server.read('charge', charge())
    shop.server.overwrite('payment_intent', payment_intent, { amount_received: 1 })
    expect(line(await read(order))).toBe('failed none: ')
  })

  test('does not count for an order with the checkout of another', async () => {
    const other = await shop.createOrder('starter')
    shop.server.pay(other.checkoutRef)
    expect(line(await read({ ...order, checkoutRef: other.checkoutRef }))).toBe('failed none: ')
  })
})

describe('a renewing plan', () => {
  let order: Ordered
  let subscription: string
  beforeEach(async () => {
    order = await shop.createOrder('business')
    shop.server.pay(order.checkoutRef)
    subscription = shop.server.subscriptionOf(order.checkoutRef)
  })

  test('is paid once by its checkout, and has the subscription id', async () => {
    const facts = await read(order)
    expect(line(facts)).toBe('paid expected: 2027-03-05 no no')
    expect(facts.subscriptionRef).toBe(subscription)
  })

  test('is late from the end of its period until it is paid', async () => {
    move('2028-03-05T10:00:00Z')
    expect(line(await read(order))).toBe('paid late: 2027-03-05 no no')
    shop.server.startPeriod(subscription)
    expect(line(await read(order))).toBe('paid late: 2027-03-05 no no')
    move('2028-03-05T11:05:00Z')
    shop.server.failRenewal(subscription)
    expect(line(await read(order))).toBe('paid late: 2027-03-05 no no')
    move('2028-03-08T09:00:00Z')
    shop.server.renew(subscription)
    expect(line(await read(order))).toBe('paid expected: 2027-03-05 no no, 2028-03-08 no no')
  })

  test('is over when Stripe stops retrying', async () => {
    move('2028-03-05T11:00:00Z')
    shop.server.failRenewal(subscription)
    shop.server.stopRetrying(subscription)
    expect(line(await read(order))).toBe('paid over: 2027-03-05 no no')
  })

  for (const way of ['cancel', 'cancelAtPeriodEnd'] as const) {
    test(`is over after ${way}`, async () => {
      shop.server[way](subscription)
      expect(line(await read(order))).toBe('paid over: 2027-03-05 no no')
    })
  }

  test('reports refunds and disputes per payment', async () => {
    for (const year of [2028, 2029, 2030]) {
      move(`${year}-03-05T11:00:00Z`)
      shop.server.renew(subscription)
    }
    const [first = '', second = '', third = ''] = shop.server.chargesOf(order.checkoutRef)
    shop.server.refund(first)
    shop.server.refund(second, 1)
    shop.server.lose(shop.server.dispute(third))
    expect(line(await read(order))).toBe(
      'paid expected: 2027-03-05 fully no, 2028-03-05 partly no, 2029-03-05 no lost, 2030-03-05 no no',
    )
  })

  test('reads all pages of invoices', async () => {
    const monthly = await shop.createOrder({ ...order.plan, months: 1 })
    shop.server.pay(monthly.checkoutRef)
    const renewed = shop.server.subscriptionOf(monthly.checkoutRef)
    for (let month = 0; month < 120; month += 1) shop.server.renew(renewed)
    expect((await read(monthly)).payments).toHaveLength(121)
  })

  test('is pending while a delayed payment is processing', async () => {
    const slow = await shop.createOrder('business')
    shop.server.payLater(slow.checkoutRef)
    expect(line(await read(slow))).toBe('pending late: ')
    shop.server.fail(slow.checkoutRef)
    expect(line(await read(slow))).toBe('failed late: ')
    shop.server.succeed(slow.checkoutRef)
    expect(line(await read(slow))).toBe('paid expected: 2027-03-05 no no')
  })

  test('counts as refunded although an earlier payment attempt was cancelled', async () => {
    move('2028-03-05T11:00:00Z')
    shop.server.failRenewal(subscription)
    shop.server.dropPayment(subscription)
    shop.server.renew(subscription)
    shop.server.refund(shop.server.chargesOf(order.checkoutRef).at(-1) ?? '')
    expect(line(await read(order))).toBe('paid expected: 2027-03-05 no no, 2028-03-05 fully no')
  })

  test('does not count a renewal below its price', async () => {
    move('2028-03-05T11:00:00Z')
    shop.server.renew(subscription)
    const { latest_invoice } = shop.server.read('subscription', subscription)
    shop.server.overwrite('invoice', latest_invoice ?? '', { amount_paid: 100 })
    expect(line(await read(order))).toBe('paid late: 2027-03-05 no no')
  })

  test('is found by its subscription if the checkout id is unknown', async () => {
    const named = { ...order, checkoutRef: undefined, subscriptionRef: subscription }
    expect(line(await shop.remote.fetchFacts(named))).toBe('paid expected: 2027-03-05 no no')
    const unknown = { ...named, subscriptionRef: 'sub_none' }
    expect(line(await shop.remote.fetchFacts(unknown))).toBe('open none: ')
  })
})

test('an order without a checkout is open, without a request to Stripe', async () => {
  const order = await shop.createOrder('starter')
  const requestCount = shop.server.requests.length
  expect(line(await shop.remote.fetchFacts({ ...order, checkoutRef: undefined }))).toBe(
    'open none: ',
  )
  expect(shop.server.requests).toHaveLength(requestCount)
})

describe('a failed request', () => {
  for (const outage of ['error', 'hang-up'] as const) {
    test(`is payment_unavailable (${outage})`, async () => {
      const order = await shop.createOrder('starter')
      shop.server.outage = outage
      await expect(read(order)).rejects.toMatchObject({ code: 'payment_unavailable' })
    })
  }

  // It may belong to another account. Calling the order unpaid would disable a key that was paid for.
  test('an unknown checkout is payment_unavailable, not unpaid', async () => {
    const order = await shop.createOrder('starter')
    await expect(read({ ...order, checkoutRef: 'cs_test_none' })).rejects.toMatchObject({
      code: 'payment_unavailable',
    })
  })
})
