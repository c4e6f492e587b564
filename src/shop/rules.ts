import type { KeyMode } from '../keys/rules.ts'
import { addMonths, type Plan } from '../shared/plan.ts'

// An order may be paid, renewed and refunded. The state is always derived from everything the provider knows, so events
// can arrive late, repeatedly and in any order.

/** What the provider currently knows about an order. */
export interface PaymentFacts {
  /** pending: on its way, such as a bank transfer. */
  state: 'open' | 'pending' | 'paid' | 'failed' | 'expired'
  /** Every successful payment of the plan's price, in any order. The first starts the plan, each further one renews it. */
  payments: Payment[]
  /** late: the next payment is overdue. over: the subscription has ended. */
  renewal: 'none' | 'expected' | 'late' | 'over'
  /** The provider's id of the subscription, which later events may name. */
  subscriptionRef: string | undefined
}

export interface Payment {
  ref: string
  paidAt: Date
  refunded: 'no' | 'partly' | 'fully'
  /** `no` also for a dispute that was won. */
  disputed: 'no' | 'open' | 'lost'
}

export type OrderState = PaymentFacts['state'] | 'refunded' | 'disputed'

/** An order. */
export interface Order {
  id: string
  provider: 'stripe' | 'fake'
  mode: KeyMode
  /** As it was at the time of the order. */
  plan: Plan
  email: string | undefined
  /** Incremented by each change: a settlement applies only to the revision it was computed from. */
  revision: number
  state: OrderState
  createdAt: Date
  /** The provider's id of the checkout; undefined until it has responded. */
  checkoutRef: string | undefined
  checkoutUrl: string | undefined
  subscriptionRef: string | undefined
  /** The key that is issued once the order is paid. */
  keyId: string
  keyPrefix: string
  /** Payments credited so far. */
  payments: number
  /** End of the paid period; undefined: never, or not paid yet. */
  paidUntil: Date | undefined
  /** True if part of the money was refunded, such as an earlier year's: shown to the operator. */
  partlyRefunded: boolean
  /** When the key was first claimed. */
  claimedAt: Date | undefined
}

/** The state of an order that follows from what the provider knows. */
export interface Settlement {
  state: OrderState
  subscriptionRef: string | undefined
  payments: number
  paidUntil: Date | undefined
  partlyRefunded: boolean
  /** State of the key; undefined if nothing was ever paid. */
  key: { state: 'active' | 'stopped'; expiresAt: Date | undefined } | undefined
}

/** How long a key keeps working while its renewal is late: cards expire, and banks are slow. */
export const GRACE_MS = 7 * 86_400_000

/** Renewals happen at the end of the period and are reported later: a paying customer must not be refused meanwhile. */
const RENEWAL_NOTICE_MS = 3_600_000

/** How long after the first claim the key can be claimed again. */
export const CLAIM_MS = 24 * 3_600_000

/** stopped: the payment was refunded or is disputed, or the key was revoked. over: the key was first shown too long ago. */
export type ClaimOutcome = 'claimed' | 'unpaid' | 'stopped' | 'over'

export function claimOutcome(
  { payments, state, claimedAt }: Order,
  isKeyActive: boolean,
  now: Date,
): ClaimOutcome {
  if (payments === 0) return 'unpaid'
  if (state !== 'paid' || !isKeyActive) return 'stopped'
  const isOver = claimedAt && claimedAt.getTime() + CLAIM_MS <= now.getTime()
  return isOver ? 'over' : 'claimed'
}

export function settle(plan: Pick<Plan, 'months'>, facts: PaymentFacts): Settlement {
  const { renewal, subscriptionRef } = facts
  const payments = facts.payments.toSorted(byTime)
  const paidUntil = paidUntilOf(plan, payments)
  const stopped = stopReason(payments)
  const expiresAt = paidUntil && new Date(paidUntil.getTime() + EXPIRY_SLACK_MS[renewal])
  return {
    state: stopped ?? (payments.length > 0 ? 'paid' : facts.state),
    subscriptionRef,
    payments: payments.length,
    paidUntil,
    partlyRefunded: payments.some(
      ({ refunded }, at) =>
        refunded === 'partly' || (refunded === 'fully' && at < payments.length - 1),
    ),
    key: payments.length === 0 ? undefined : { state: stopped ? 'stopped' : 'active', expiresAt },
  }
}

/** How long a key keeps working after the paid period. */
const EXPIRY_SLACK_MS = { none: 0, over: 0, expected: RENEWAL_NOTICE_MS, late: GRACE_MS }

function byTime(one: Payment, other: Payment): number {
  return one.paidAt.getTime() - other.paidAt.getTime() || (one.ref < other.ref ? -1 : 1)
}

/** A renewal extends the previous period, or starts a new one if the plan had lapsed. */
function paidUntilOf({ months }: Pick<Plan, 'months'>, payments: readonly Payment[]) {
  if (months === undefined) return undefined
  // Counted from the first payment of the series, as providers do, so that a 31st returns after a shorter month.
  let start: Date | undefined
  let paid = 0
  let end: Date | undefined
  for (const { paidAt } of payments) {
    if (!start || !end || paidAt.getTime() > end.getTime() + GRACE_MS) {
      start = paidAt
      paid = 0
    }
    paid += 1
    end = addMonths(start, paid * months)
  }
  return end
}

/** A dispute of any payment stops the key; a refund only if it is of the last one. */
function stopReason(payments: readonly Payment[]): 'refunded' | 'disputed' | undefined {
  if (payments.some(({ disputed }) => disputed !== 'no')) return 'disputed'
  return payments.at(-1)?.refunded === 'fully' ? 'refunded' : undefined
}

/** A secret or restricted key of Stripe's test mode. */
export function isTestSecret(secretKey: string): boolean {
  return /^[sr]k_test_/.test(secretKey)
}
