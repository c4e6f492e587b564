import { describe, expect, test } from 'vitest'
import {
  bill,
  business,
  charge,
  facts,
  invoice,
  once,
  renewalBill,
  secondYear,
  starter,
  taking,
  yearly,
} from './testing/stripe-records.ts'

describe('of the money', () => {
  for (const [returned, name, change] of [
    ['no', 'nothing was given back', {}],
    ['partly', 'some was given back', { amount_refunded: 1 }],
    ['fully', 'all was given back', { amount_refunded: 500, refunded: true }],
  ] as const) {
    test(`${returned}: ${name}`, () => {
      const took = { charge: { ...charge, ...change } }
      const paidOnce = facts(starter, { ...once, taking: { ...taking, ...took } })
      const subscribed = facts(business, yearly({ bills: [bill({}, took)] }))
      expect(paidOnce.payments).toMatchObject([{ returned }])
      expect(subscribed.payments).toMatchObject([{ returned }])
    })
  }

  test('partly: an invoice was paid in two parts, and one came back', () => {
    const whole = { ...taking, charge: { ...charge, refunded: true, amount_refunded: 2_000 } }
    const record = yearly({ bills: [{ invoice, takings: [whole, taking] }] })
    expect(facts(business, record).payments).toMatchObject([{ returned: 'partly' }])
  })

  test('no: an invoice was paid outside of Stripe, which knows of no charge', () => {
    const record = yearly({ bills: [{ invoice, takings: [] }] })
    expect(facts(business, record).payments).toMatchObject([{ returned: 'no', disputed: 'no' }])
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
      const paidOnce = facts(starter, { ...once, taking: { ...taking, disputes } })
      expect(paidOnce.payments).toMatchObject([{ disputed }])
      const record = yearly({ bills: [renewalBill({}, { disputes }), bill()], items: secondYear })
      expect(facts(business, record).payments).toMatchObject([{ disputed: 'no' }, { disputed }])
    })
  }
})
