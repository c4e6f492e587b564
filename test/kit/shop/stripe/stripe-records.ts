import {
  factsOf,
  type Invoice,
  type OrderRecord,
  type PaymentAttempt,
  type SubscriptionRecord,
} from '../../../../src/shop/pay/stripe-facts.ts'
import { planById } from '../../../../src/shop/pay/testing/stripe-fixture.ts'
import type { Order } from '../../../../src/shop/rules.ts'

// Records of orders without problems; each test changes one thing.

type SoldOrder = Pick<Order, 'id' | 'plan'>

export const START = Date.UTC(2027, 2, 5, 10) / 1_000
export const YEAR_ON = Date.UTC(2028, 2, 5, 10) / 1_000
export const NOW = new Date('2027-06-01T00:00:00Z')
export const starter: SoldOrder = { id: 'ord_1', plan: planById('starter') }
export const business: SoldOrder = { id: 'ord_1', plan: planById('business') }

export const session: OrderRecord['session'] = {
  amount_total: 500,
  currency: 'usd',
  livemode: false,
  metadata: { order_id: 'ord_1' },
  mode: 'payment',
  payment_status: 'paid',
  status: 'complete',
}

export const charge = { amount_refunded: 0, created: START, disputed: false, refunded: false }

export const attempt: PaymentAttempt = {
  ref: 'pi_1',
  status: 'succeeded',
  received: 500,
  currency: 'usd',
  charge,
  disputes: [],
}

export const oneTime: OrderRecord = { session, attempt, subscription: undefined }

export const invoice: Invoice = {
  id: 'in_1',
  amount_paid: 4_500,
  billing_reason: 'subscription_create',
  created: START,
  currency: 'usd',
  status: 'paid',
  status_transitions: {
    finalized_at: START,
    marked_uncollectible_at: null,
    paid_at: START + 2,
    voided_at: null,
  },
}

export const invoiceRecord = (
  change: Partial<Invoice> = {},
  took: Partial<PaymentAttempt> = {},
) => ({
  invoice: { ...invoice, ...change },
  attempts: [{ ...attempt, received: 4_500, ...took }],
})

export const renewalRecord = (change: Partial<Invoice> = {}, took: Partial<PaymentAttempt> = {}) =>
  invoiceRecord(
    {
      id: 'in_2',
      billing_reason: 'subscription_cycle',
      created: YEAR_ON + 14,
      status_transitions: { ...invoice.status_transitions, paid_at: YEAR_ON + 3_900 },
      ...change,
    },
    took,
  )

/** A subscription bought and paid on 2027-03-05. */
export function yearly(
  change: Partial<SubscriptionRecord> = {},
  asked: Partial<OrderRecord['session']> = {},
): OrderRecord {
  return {
    session: { ...session, mode: 'subscription', amount_total: 4_500, ...asked },
    attempt: undefined,
    subscription: {
      id: 'sub_1',
      status: 'active',
      cancel_at: null,
      cancel_at_period_end: false,
      items: { data: [{ current_period_start: START, current_period_end: YEAR_ON }] },
      invoices: [invoiceRecord()],
      ...change,
    },
  }
}

export const secondYear = {
  data: [{ current_period_start: YEAR_ON, current_period_end: Date.UTC(2029, 2, 5, 10) / 1_000 }],
}

export function facts(order: SoldOrder, record: OrderRecord, now = NOW) {
  return factsOf(order, record, { mode: 'test', now })
}
