import { describe, expect, test } from 'vitest'
import type { SubscriptionRecord } from './stripe-facts.ts'
import {
  bill,
  business,
  facts,
  NOW,
  renewalBill,
  secondYear,
  YEAR_ON,
  yearly,
} from './testing/stripe-records.ts'

describe('the next payment is', () => {
  const second = (time: number) => new Date(time * 1_000)
  for (const [expected, name, change, now] of [
    ['expected', 'all is paid', {}, NOW],
    ['expected', 'it is the last second of the period', {}, second(YEAR_ON - 1)],
    ['late', 'the period is over, and Stripe has not begun the next', {}, second(YEAR_ON)],
    [
      'late',
      'the next has begun, and has no invoice yet',
      { items: secondYear },
      second(YEAR_ON + 5),
    ],
    [
      'late',
      'its invoice is a draft',
      { items: secondYear, bills: [renewalBill({ status: 'draft' }), bill()] },
      second(YEAR_ON + 60),
    ],
    [
      'late',
      'its invoice is open, and Stripe still says active',
      { items: secondYear, bills: [renewalBill({ status: 'open' }), bill()] },
      second(YEAR_ON + 3_900),
    ],
    [
      'expected',
      'it was paid, by an invoice of some seconds later',
      { items: secondYear, bills: [renewalBill(), bill()] },
      second(YEAR_ON + 4_000),
    ],
    [
      'expected',
      'it was paid, by an invoice of a second before',
      { items: secondYear, bills: [renewalBill({ created: YEAR_ON - 1 }), bill()] },
      second(YEAR_ON + 4_000),
    ],
    [
      'expected',
      'an invoice by hand is open beside',
      { bills: [bill({ id: 'in_9', billing_reason: 'manual', status: 'open' }), bill()] },
      NOW,
    ],
    [
      'late',
      'less was paid than the price',
      { items: secondYear, bills: [renewalBill({ amount_paid: 1 }), bill()] },
      second(YEAR_ON + 4_000),
    ],
    ['late', 'Stripe says past_due', { status: 'past_due' }, NOW],
    ['late', 'Stripe says incomplete', { status: 'incomplete' }, NOW],
    ['expected', 'Stripe says trialing', { status: 'trialing' }, NOW],
    ['over', 'Stripe says canceled', { status: 'canceled' }, NOW],
    ['over', 'Stripe says unpaid', { status: 'unpaid' }, NOW],
    ['over', 'Stripe says incomplete_expired', { status: 'incomplete_expired' }, NOW],
    ['over', 'Stripe says paused', { status: 'paused' }, NOW],
    ['over', 'it ends with the period', { cancel_at_period_end: true }, NOW],
    ['over', 'it ends at a time that is the end of the period', { cancel_at: YEAR_ON }, NOW],
    ['expected', 'it ends at a time after the period', { cancel_at: YEAR_ON + 1 }, NOW],
  ] as const) {
    test(`${expected}: ${name}`, () => {
      const record = yearly(change as Partial<SubscriptionRecord>)
      expect(facts(business, record, now).renewal).toBe(expected)
    })
  }
})
