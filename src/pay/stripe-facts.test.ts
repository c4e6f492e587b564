import { describe, expect, test } from 'vitest'
import { factsOf, type SubscriptionRecord } from './stripe-facts.ts'
import {
  bill,
  business,
  facts,
  invoice,
  NOW,
  once,
  renewalBill,
  START,
  secondYear,
  session,
  starter,
  taking,
  YEAR_ON,
  yearly,
} from './testing/stripe-records.ts'

test('a plan that was paid once is one payment', () => {
  expect(facts(starter, once)).toEqual({
    state: 'paid',
    payments: [
      {
        ref: 'pi_1',
        paidAt: new Date('2027-03-05T10:00:00Z'),
        returned: 'no',
        disputed: 'no',
      },
    ],
    renewal: 'none',
    subscriptionRef: undefined,
  })
})

test('the first invoice of a subscription is the purchase, and counts once', () => {
  expect(facts(business, yearly())).toEqual({
    state: 'paid',
    payments: [
      {
        ref: 'in_1',
        paidAt: new Date('2027-03-05T10:00:02Z'),
        returned: 'no',
        disputed: 'no',
      },
    ],
    renewal: 'expected',
    subscriptionRef: 'sub_1',
  })
})

test('renewals follow in the order in which they were paid, however they are listed', () => {
  const third = renewalBill({
    id: 'in_3',
    status_transitions: { ...invoice.status_transitions, paid_at: YEAR_ON * 2 - START },
  })
  const record = yearly({ bills: [third, bill(), renewalBill()], items: secondYear })
  expect(facts(business, record).payments.map(({ ref }) => ref)).toEqual(['in_1', 'in_2', 'in_3'])
})

describe('money opens nothing when', () => {
  for (const [name, change] of [
    ['the session is of a lower amount', { amount_total: 499 }],
    ['the session is of no amount', { amount_total: null }],
    ['the session is in another currency', { currency: 'jpy' }],
    ['the session is of the other mode', { livemode: true }],
    ['the session is of another order', { metadata: { order_id: 'ord_2' } }],
    ['the session is of no order', { metadata: {} }],
    ['the session has no metadata', { metadata: null }],
    ['the session sold a subscription', { mode: 'subscription' }],
  ] as const) {
    test(name, () => {
      const record = { ...once, session: { ...session, ...change } }
      expect(facts(starter, record)).toEqual({
        state: 'failed',
        payments: [],
        renewal: 'none',
        subscriptionRef: undefined,
      })
    })
  }

  for (const [name, change] of [
    ['less came than was asked', { received: 499 }],
    ['it came in another currency', { currency: 'jpy' }],
    ['it is only authorised', { status: 'requires_capture', received: 0 }],
    ['nothing was charged', { charge: undefined }],
  ] as const) {
    test(name, () => {
      const { payments } = facts(starter, { ...once, taking: { ...taking, ...change } })
      expect(payments).toEqual([])
    })
  }

  for (const [name, change] of [
    ['the invoice is of a lower amount', { amount_paid: 4_499 }],
    ['the invoice is in another currency', { currency: 'jpy' }],
    ['the invoice is open', { status: 'open' }],
    ['the invoice is void', { status: 'void' }],
    ['the invoice was written by hand', { billing_reason: 'manual' }],
    ['the invoice settles a change of plan', { billing_reason: 'subscription_update' }],
  ] as const) {
    test(name, () => {
      expect(facts(business, yearly({ bills: [bill(change)] })).payments).toEqual([])
    })
  }

  test('a live session is looked at by a site in test mode', () => {
    const live = { ...once, session: { ...session, livemode: true } }
    expect(factsOf(starter, live, { mode: 'live', now: NOW }).payments).toHaveLength(1)
    expect(factsOf(starter, once, { mode: 'live', now: NOW }).payments).toEqual([])
  })
})

test('more than the price is enough: a tax may be on top', () => {
  const record = {
    ...once,
    session: { ...session, amount_total: 595 },
    taking: { ...taking, received: 595 },
  }
  expect(facts(starter, record).payments).toHaveLength(1)
})

describe('an order is', () => {
  const unpaid = { ...session, payment_status: 'unpaid' } as const
  const tried = (status: string) => ({
    ...once,
    session: unpaid,
    taking: { ...taking, status, received: 0 },
  })
  const none = { ...once, taking: undefined }
  for (const [expected, name, record] of [
    ['open', 'nobody has paid yet', { ...none, session: { ...unpaid, status: 'open' } }],
    ['expired', 'nobody paid in time', { ...none, session: { ...unpaid, status: 'expired' } }],
    ['pending', 'the money is under way', tried('processing')],
    ['pending', 'a voucher waits to be paid', tried('requires_action')],
    ['pending', 'the payment is not to be seen yet', { ...none, session: unpaid }],
    ['failed', 'the money did not come', tried('requires_payment_method')],
    ['failed', 'the payment was given up', tried('canceled')],
    [
      'failed',
      'nothing was to be paid',
      { ...none, session: { ...session, payment_status: 'no_payment_required' } },
    ],
  ] as const) {
    test(`${expected}: ${name}`, () => expect(facts(starter, record).state).toBe(expected))
  }

  const first = (change: Partial<SubscriptionRecord>, status: string) =>
    yearly(
      {
        bills: [bill({ status: 'open', amount_paid: 0 }, { status, received: 0 })],
        ...change,
      },
      { payment_status: 'unpaid' },
    )
  for (const [expected, name, record] of [
    ['pending', 'the first debit is under way', first({}, 'processing')],
    ['failed', 'the first debit failed', first({ status: 'past_due' }, 'requires_payment_method')],
    ['pending', 'the first invoice is not there yet', first({ bills: [] }, '')],
    [
      'failed',
      'it ended before it was paid',
      first({ status: 'incomplete_expired' }, 'processing'),
    ],
    ['paid', 'the debit came after all', yearly({}, { payment_status: 'unpaid' })],
  ] as const) {
    test(`${expected}, of a subscription: ${name}`, () =>
      expect(facts(business, record).state).toBe(expected))
  }
})
