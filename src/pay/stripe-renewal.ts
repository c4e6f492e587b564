import type { Stripe } from 'stripe'
import type { Plan } from '../core/plan.ts'
import type { PaymentFacts } from '../core/purchase.ts'
import { type Invoice, isBill, isSale, type Taking } from './stripe-taking.ts'

export interface SubscriptionRecord
  extends Pick<Stripe.Subscription, 'cancel_at' | 'cancel_at_period_end' | 'id' | 'status'> {
  items: {
    data: Pick<Stripe.SubscriptionItem, 'current_period_end' | 'current_period_start'>[]
  }
  /** Newest first. */
  bills: { invoice: Invoice; takings: readonly Taking[] }[]
}

// A period's invoice is made some seconds around its start, and no period is shorter than a month.
const SLACK_SECONDS = 86_400

/** Whether there will be another payment, and whether it is late. */
export function renewalOf(
  plan: Plan,
  subscription: SubscriptionRecord,
  now: Date,
): Exclude<PaymentFacts['renewal'], 'none'> {
  if (isEnding(subscription)) return 'over'
  const { status } = subscription
  if (status !== 'active' && status !== 'trialing') return 'late'
  return isPaidUp(plan, subscription, now) ? 'expected' : 'late'
}

const ENDED: readonly string[] = ['canceled', 'unpaid', 'incomplete_expired', 'paused']

/** Stripe asks for no more money. */
export function hasEnded({ status }: Pick<SubscriptionRecord, 'status'>): boolean {
  return ENDED.includes(status)
}

function isEnding(subscription: SubscriptionRecord): boolean {
  const { cancel_at, cancel_at_period_end, items } = subscription
  if (hasEnded(subscription) || cancel_at_period_end) return true
  return cancel_at !== null && items.data.every((item) => cancel_at <= item.current_period_end)
}

/**
 * Stripe begins a period first, makes its invoice some seconds later and takes the money after an hour or so, and calls
 * the subscription active all the while.
 */
function isPaidUp(plan: Plan, { items, bills }: SubscriptionRecord, now: Date): boolean {
  const newest = bills.find(({ invoice }) => isBill(invoice))?.invoice
  if (!newest || !isSale(plan, newest)) return false
  return items.data.every(
    ({ current_period_start: start, current_period_end: end }) =>
      newest.created >= start - SLACK_SECONDS && now.getTime() < end * 1_000,
  )
}
