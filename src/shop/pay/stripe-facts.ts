import type { Stripe } from 'stripe'
import type { KeyMode } from '../../keys/rules.ts'
import type { Plan } from '../../shared/plan.ts'
import type { Order, Payment, PaymentFacts } from '../rules.ts'
import { checkoutMode } from './stripe-client.ts'

type SoldOrder = Pick<Order, 'id' | 'plan'>

type Session = Pick<
  Stripe.Checkout.Session,
  'amount_total' | 'currency' | 'livemode' | 'metadata' | 'mode' | 'payment_status' | 'status'
>

/** Everything Stripe stores about an order. */
export interface OrderRecord {
  session: Session
  /** Payment of a one-time plan. */
  attempt: PaymentAttempt | undefined
  subscription: SubscriptionRecord | undefined
}

/** An order without a checkout. */
export const NO_CHECKOUT: PaymentFacts = {
  state: 'open',
  payments: [],
  renewal: 'none',
  subscriptionRef: undefined,
}

/** A payment counts only if mode, amount and currency are those of the order. */
export function factsOf(
  order: SoldOrder,
  record: OrderRecord,
  { mode, now }: { mode: KeyMode; now: Date },
): PaymentFacts {
  const { session, subscription } = record
  if (!matchesOrder(order, session, mode)) return { ...NO_CHECKOUT, state: stateOf(record) }
  const payments = paymentsOf(order, record)
  return {
    state: payments.length > 0 ? 'paid' : stateOf(record),
    payments,
    renewal: subscription ? renewalOf(order.plan, subscription, now) : 'none',
    subscriptionRef: subscription?.id,
  }
}

function matchesOrder({ id, plan }: SoldOrder, session: Session, mode: KeyMode): boolean {
  return (
    session.metadata?.['order_id'] === id &&
    session.livemode === (mode === 'live') &&
    session.mode === checkoutMode(plan) &&
    coversPrice(plan, session.amount_total, session.currency)
  )
}

function paymentsOf({ plan }: SoldOrder, { attempt, subscription }: OrderRecord): Payment[] {
  if (subscription) {
    // The first invoice is the purchase itself, so only invoices count.
    return subscription.invoices
      .filter(({ invoice }) => isPaidPlanInvoice(plan, invoice))
      .map(({ invoice, attempts }) => ({
        ref: invoice.id,
        paidAt: timeOf(invoice.status_transitions.paid_at ?? invoice.created),
        refunded: refundedOf(attempts),
        disputed: disputedOf(attempts),
      }))
      .sort((one, other) => one.paidAt.getTime() - other.paidAt.getTime())
  }
  if (attempt?.status !== 'succeeded' || !attempt.charge) return []
  if (!coversPrice(plan, attempt.received, attempt.currency)) return []
  return [
    {
      ref: attempt.ref,
      paidAt: timeOf(attempt.charge.created),
      refunded: refundedOf([attempt]),
      disputed: disputedOf([attempt]),
    },
  ]
}

/** The state of an order without a valid payment. */
function stateOf({ session, attempt, subscription }: OrderRecord): PaymentFacts['state'] {
  const { status, payment_status } = session
  if (status !== 'complete') return status === 'expired' ? 'expired' : 'open'
  if (payment_status !== 'unpaid' || (subscription && hasEnded(subscription))) return 'failed'
  const tried = subscription ? subscription.invoices[0]?.attempts : attempt && [attempt]
  return tried?.some(isFinal) ? 'failed' : 'pending'
}

const FINAL_STATUSES: readonly string[] = ['succeeded', 'requires_payment_method', 'canceled']

/** No longer in progress. A voucher that is not paid yet is `requires_action`. */
function isFinal({ status }: PaymentAttempt): boolean {
  return FINAL_STATUSES.includes(status)
}

function timeOf(seconds: number): Date {
  return new Date(seconds * 1_000)
}

/** An attempt to collect money, with refunds and disputes. */
export interface PaymentAttempt {
  ref: string
  status: Stripe.PaymentIntent.Status
  received: number
  currency: string
  charge: Pick<Stripe.Charge, 'amount_refunded' | 'created' | 'disputed' | 'refunded'> | undefined
  disputes: readonly Stripe.Dispute.Status[]
}

export type Invoice = Pick<
  Stripe.Invoice,
  'id' | 'amount_paid' | 'billing_reason' | 'created' | 'currency' | 'status' | 'status_transitions'
> & { id: string }

/** An invoice of the purchase or of a renewal, not one the operator created or of a plan change. */
function isPlanInvoice({ billing_reason }: Pick<Invoice, 'billing_reason'>): boolean {
  return billing_reason === 'subscription_create' || billing_reason === 'subscription_cycle'
}

export function isPaidPlanInvoice(plan: Plan, invoice: Invoice): boolean {
  return (
    isPlanInvoice(invoice) &&
    invoice.status === 'paid' &&
    coversPrice(plan, invoice.amount_paid, invoice.currency)
  )
}

/** More than the price is fine, for example with tax. */
function coversPrice(plan: Plan, amount: number | null, currency: string | null): boolean {
  return amount !== null && amount >= plan.priceCents && currency === plan.currency
}

function refundedOf(attempts: readonly PaymentAttempt[]): Payment['refunded'] {
  const charges = attempts.flatMap(({ charge }) => charge ?? [])
  if (charges.length > 0 && charges.every(({ refunded }) => refunded)) return 'fully'
  return charges.some(({ amount_refunded }) => amount_refunded > 0) ? 'partly' : 'no'
}

/** Inquiries (`warning_…`) move no money; a won or prevented dispute has returned it. */
const NO_MONEY_MOVED = /^(?:warning_.*|won|prevented)$/

function disputedOf(attempts: readonly PaymentAttempt[]): Payment['disputed'] {
  const disputes = attempts.flatMap((attempt) => attempt.disputes)
  if (disputes.includes('lost')) return 'lost'
  return disputes.every((status) => NO_MONEY_MOVED.test(status)) ? 'no' : 'open'
}

export interface SubscriptionRecord
  extends Pick<Stripe.Subscription, 'cancel_at' | 'cancel_at_period_end' | 'id' | 'status'> {
  items: {
    data: Pick<Stripe.SubscriptionItem, 'current_period_end' | 'current_period_start'>[]
  }
  /** Newest first. */
  invoices: { invoice: Invoice; attempts: readonly PaymentAttempt[] }[]
}

// The invoice of a period is created within seconds of its start, and no period is shorter than a month.
const SLACK_SECONDS = 86_400

function renewalOf(
  plan: Plan,
  subscription: SubscriptionRecord,
  now: Date,
): Exclude<PaymentFacts['renewal'], 'none'> {
  if (isEnding(subscription)) return 'over'
  const { status } = subscription
  if (status !== 'active' && status !== 'trialing') return 'late'
  return isPaidUp(plan, subscription, now) ? 'expected' : 'late'
}

const ENDED_STATUSES: readonly string[] = ['canceled', 'unpaid', 'incomplete_expired', 'paused']

/** Stripe will not charge again. */
function hasEnded({ status }: Pick<SubscriptionRecord, 'status'>): boolean {
  return ENDED_STATUSES.includes(status)
}

function isEnding(subscription: SubscriptionRecord): boolean {
  const { cancel_at, cancel_at_period_end, items } = subscription
  if (hasEnded(subscription) || cancel_at_period_end) return true
  return cancel_at !== null && items.data.every((item) => cancel_at <= item.current_period_end)
}

/**
 * Stripe starts a period, creates its invoice seconds later and charges after about an hour; the subscription is
 * `active` all the time.
 */
function isPaidUp(plan: Plan, { items, invoices }: SubscriptionRecord, now: Date): boolean {
  const newest = invoices.find(({ invoice }) => isPlanInvoice(invoice))?.invoice
  if (!newest || !isPaidPlanInvoice(plan, newest)) return false
  return items.data.every(
    ({ current_period_start: start, current_period_end: end }) =>
      newest.created >= start - SLACK_SECONDS && now.getTime() < end * 1_000,
  )
}
