import { describe, expect, test } from 'vitest'
import {
  attempt,
  business,
  charge,
  facts,
  invoice,
  invoiceRecord,
  NOW,
  oneTime,
  renewalRecord,
  START,
  secondYear,
  session,
  starter,
  YEAR_ON,
  yearly,
} from '../../../test/kit/shop/stripe/stripe-records.ts'
import { factsOf, type SubscriptionRecord } from './stripe-facts.ts'

test('a one-time plan has one payment', () => {
  expect(facts(starter, oneTime)).toEqual({
    state: 'paid',
    payments: [
      {
        ref: 'pi_1',
        paidAt: new Date('2027-03-05T10:00:00Z'),
        refunded: 'no',
        disputed: 'no',
      },
    ],
    renewal: 'none',
    subscriptionRef: undefined,
  })
})

test('the first invoice of a subscription is the purchase and counts once', () => {
  expect(facts(business, yearly())).toEqual({
    state: 'paid',
    payments: [
      {
        ref: 'in_1',
        paidAt: new Date('2027-03-05T10:00:02Z'),
        refunded: 'no',
        disputed: 'no',
      },
    ],
    renewal: 'expected',
    subscriptionRef: 'sub_1',
  })
})

test('renewals are sorted by payment date', () => {
  const third = renewalRecord({
    id: 'in_3',
    status_transitions: { ...invoice.status_transitions, paid_at: YEAR_ON * 2 - START },
  })
  const record = yearly({ invoices: [third, invoiceRecord(), renewalRecord()], items: secondYear })
  expect(facts(business, record).payments.map(({ ref }) => ref)).toEqual(['in_1', 'in_2', 'in_3'])
})

describe('a payment does not count if', () => {
  for (const [name, change] of [
    ['the session has a lower amount', { amount_total: 499 }],
    ['the session has no amount', { amount_total: null }],
    ['the session is in another currency', { currency: 'jpy' }],
    ['the session has the other mode', { livemode: true }],
    ['the session belongs to another order', { metadata: { order_id: 'ord_2' } }],
    ['the session has no order id', { metadata: {} }],
    ['the session has no metadata', { metadata: null }],
    ['the session is for a subscription', { mode: 'subscription' }],
  ] as const) {
    test(name, () => {
      const record = { ...oneTime, session: { ...session, ...change } }
      expect(facts(starter, record)).toEqual({
        state: 'failed',
        payments: [],
        renewal: 'none',
        subscriptionRef: undefined,
      })
    })
  }

  for (const [name, change] of [
    ['less than the price was received', { received: 499 }],
    ['it was received in another currency', { currency: 'jpy' }],
    ['it is only authorized', { status: 'requires_capture', received: 0 }],
    ['nothing was charged', { charge: undefined }],
  ] as const) {
    test(name, () => {
      const { payments } = facts(starter, { ...oneTime, attempt: { ...attempt, ...change } })
      expect(payments).toEqual([])
    })
  }

  for (const [name, change] of [
    ['the invoice has a lower amount', { amount_paid: 4_499 }],
    ['the invoice is in another currency', { currency: 'jpy' }],
    ['the invoice is open', { status: 'open' }],
    ['the invoice is void', { status: 'void' }],
    ['the invoice was created manually', { billing_reason: 'manual' }],
    ['the invoice is for a change of plan', { billing_reason: 'subscription_update' }],
  ] as const) {
    test(name, () => {
      expect(facts(business, yearly({ invoices: [invoiceRecord(change)] })).payments).toEqual([])
    })
  }

  test('its mode is not the configured one', () => {
    const live = { ...oneTime, session: { ...session, livemode: true } }
    expect(factsOf(starter, live, { mode: 'live', now: NOW }).payments).toHaveLength(1)
    expect(factsOf(starter, oneTime, { mode: 'live', now: NOW }).payments).toEqual([])
  })
})

test('a payment above the price counts, for example with tax', () => {
  const record = {
    ...oneTime,
    session: { ...session, amount_total: 595 },
    attempt: { ...attempt, received: 595 },
  }
  expect(facts(starter, record).payments).toHaveLength(1)
})

describe('an order is', () => {
  const unpaid = { ...session, payment_status: 'unpaid' } as const
  const tried = (status: string) => ({
    ...oneTime,
    session: unpaid,
    attempt: { ...attempt, status, received: 0 },
  })
  const none = { ...oneTime, attempt: undefined }
  for (const [expected, name, record] of [
    ['open', 'the session is open', { ...none, session: { ...unpaid, status: 'open' } }],
    ['expired', 'the session has expired', { ...none, session: { ...unpaid, status: 'expired' } }],
    ['pending', 'the payment is processing', tried('processing')],
    ['pending', 'a voucher is not paid yet', tried('requires_action')],
    ['pending', 'the payment is not visible yet', { ...none, session: unpaid }],
    ['failed', 'the payment failed', tried('requires_payment_method')],
    ['failed', 'the payment was canceled', tried('canceled')],
    [
      'failed',
      'no payment was required',
      { ...none, session: { ...session, payment_status: 'no_payment_required' } },
    ],
  ] as const) {
    test(`${expected}: ${name}`, () => expect(facts(starter, record).state).toBe(expected))
  }

  const first = (change: Partial<SubscriptionRecord>, status: string) =>
    yearly(
      {
        invoices: [invoiceRecord({ status: 'open', amount_paid: 0 }, { status, received: 0 })],
        ...change,
      },
      { payment_status: 'unpaid' },
    )
  for (const [expected, name, record] of [
    ['pending', 'the first debit is processing', first({}, 'processing')],
    ['failed', 'the first debit failed', first({ status: 'past_due' }, 'requires_payment_method')],
    ['pending', 'the first invoice does not exist yet', first({ invoices: [] }, '')],
    [
      'failed',
      'it expired before it was paid',
      first({ status: 'incomplete_expired' }, 'processing'),
    ],
    ['paid', 'the first debit succeeded later', yearly({}, { payment_status: 'unpaid' })],
  ] as const) {
    test(`${expected} (subscription): ${name}`, () =>
      expect(facts(business, record).state).toBe(expected))
  }
})

describe('refunds and disputes', () => {
  for (const [refunded, name, change] of [
    ['no', 'nothing was refunded', {}],
    ['partly', 'a part was refunded', { amount_refunded: 1 }],
    ['fully', 'everything was refunded', { amount_refunded: 500, refunded: true }],
  ] as const) {
    test(`a payment is refunded: ${refunded} if ${name}`, () => {
      const taken = { charge: { ...charge, ...change } }
      const paidOnce = facts(starter, { ...oneTime, attempt: { ...attempt, ...taken } })
      const subscribed = facts(business, yearly({ invoices: [invoiceRecord({}, taken)] }))
      expect(paidOnce.payments).toMatchObject([{ refunded }])
      expect(subscribed.payments).toMatchObject([{ refunded }])
    })
  }

  test('a payment is refunded: partly if one of two payments of an invoice was refunded', () => {
    const refunded = { ...attempt, charge: { ...charge, refunded: true, amount_refunded: 2_000 } }
    const record = yearly({ invoices: [{ invoice, attempts: [refunded, attempt] }] })
    expect(facts(business, record).payments).toMatchObject([{ refunded: 'partly' }])
  })

  test('a payment is refunded: no if the invoice was paid outside of Stripe', () => {
    const record = yearly({ invoices: [{ invoice, attempts: [] }] })
    expect(facts(business, record).payments).toMatchObject([{ refunded: 'no', disputed: 'no' }])
  })

  for (const [disputed, ...disputes] of [
    ['no'],
    ['no', 'won'],
    ['no', 'warning_needs_response'],
    ['no', 'warning_under_review'],
    ['no', 'warning_closed'],
    ['no', 'prevented'],
    ['open', 'needs_response'],
    ['open', 'under_review'],
    ['open', 'appeal_under_review'],
    ['open', 'some_state_of_tomorrow'],
    ['open', 'won', 'needs_response'],
    ['lost', 'lost'],
    ['lost', 'won', 'lost'],
    ['lost', 'needs_response', 'lost'],
  ] as const) {
    test(`a payment with disputes (${disputes}) is disputed: ${disputed}`, () => {
      const paidOnce = facts(starter, { ...oneTime, attempt: { ...attempt, disputes } })
      expect(paidOnce.payments).toMatchObject([{ disputed }])
      const record = yearly({
        invoices: [renewalRecord({}, { disputes }), invoiceRecord()],
        items: secondYear,
      })
      expect(facts(business, record).payments).toMatchObject([{ disputed: 'no' }, { disputed }])
    })
  }
})

describe('the next payment is', () => {
  const second = (time: number) => new Date(time * 1_000)
  for (const [expected, name, change, now] of [
    ['expected', 'everything is paid', {}, NOW],
    ['expected', 'it is the last second of the period', {}, second(YEAR_ON - 1)],
    ['late', 'the period has ended, and Stripe has not started the next', {}, second(YEAR_ON)],
    [
      'late',
      'the next period has started without an invoice',
      { items: secondYear },
      second(YEAR_ON + 5),
    ],
    [
      'late',
      'the invoice is a draft',
      { items: secondYear, invoices: [renewalRecord({ status: 'draft' }), invoiceRecord()] },
      second(YEAR_ON + 60),
    ],
    [
      'late',
      'the invoice is open and the status still active',
      { items: secondYear, invoices: [renewalRecord({ status: 'open' }), invoiceRecord()] },
      second(YEAR_ON + 3_900),
    ],
    [
      'expected',
      'it was paid by an invoice created seconds after the start',
      { items: secondYear, invoices: [renewalRecord(), invoiceRecord()] },
      second(YEAR_ON + 4_000),
    ],
    [
      'expected',
      'it was paid by an invoice created a second before the start',
      { items: secondYear, invoices: [renewalRecord({ created: YEAR_ON - 1 }), invoiceRecord()] },
      second(YEAR_ON + 4_000),
    ],
    [
      'expected',
      'a manual invoice is open',
      {
        invoices: [
          invoiceRecord({ id: 'in_9', billing_reason: 'manual', status: 'open' }),
          invoiceRecord(),
        ],
      },
      NOW,
    ],
    [
      'late',
      'less than the price was paid',
      { items: secondYear, invoices: [renewalRecord({ amount_paid: 1 }), invoiceRecord()] },
      second(YEAR_ON + 4_000),
    ],
    ['late', 'the status is past_due', { status: 'past_due' }, NOW],
    ['late', 'the status is incomplete', { status: 'incomplete' }, NOW],
    ['expected', 'the status is trialing', { status: 'trialing' }, NOW],
    ['over', 'the status is canceled', { status: 'canceled' }, NOW],
    ['over', 'the status is unpaid', { status: 'unpaid' }, NOW],
    ['over', 'the status is incomplete_expired', { status: 'incomplete_expired' }, NOW],
    ['over', 'the status is paused', { status: 'paused' }, NOW],
    ['over', 'it is canceled at the end of the period', { cancel_at_period_end: true }, NOW],
    ['over', 'it is canceled at the time the period ends', { cancel_at: YEAR_ON }, NOW],
    ['expected', 'it is canceled after the end of the period', { cancel_at: YEAR_ON + 1 }, NOW],
  ] as const) {
    test(`${expected}: ${name}`, () => {
      const record = yearly(change as Partial<SubscriptionRecord>)
      expect(facts(business, record, now).renewal).toBe(expected)
    })
  }
})
