import type { KeyMode } from './key.ts'
import { addMonths, type Plan } from './plan.ts'

// An order is bought, paid, perhaps renewed, perhaps returned. The provider is asked for all it knows each time, and
// everything follows from that: in whatever order it speaks, and however often, the outcome is the same.

/** What the provider knows of an order at this moment. */
export interface PaymentFacts {
  /** pending: promised, such as by a bank transfer under way. */
  state: 'open' | 'pending' | 'paid' | 'failed' | 'expired'
  /** Every payment of the plan's price that came through, in any order. One opens the plan, each further one renews it. */
  payments: Payment[]
  /** late: the next payment is due and not there yet. over: there will be none. */
  renewal: 'none' | 'expected' | 'late' | 'over'
  /** By what the provider will call this order later, beside the checkout. */
  subscriptionRef: string | undefined
}

export interface Payment {
  ref: string
  paidAt: Date
  returned: 'no' | 'partly' | 'fully'
  /** A dispute that was won is none. */
  disputed: 'no' | 'open' | 'lost'
}

export type OrderState = PaymentFacts['state'] | 'refunded' | 'disputed'

/** What somebody bought, or is about to. */
export interface Purchase {
  id: string
  provider: 'stripe' | 'fake'
  mode: KeyMode
  /** As it was when it was ordered. */
  plan: Plan
  email: string | undefined
  /** Rises with each change: facts are only applied to the state that they were read after. */
  revision: number
  state: OrderState
  createdAt: Date
  /** The provider's name for the checkout; undefined until it has answered. */
  checkoutRef: string | undefined
  checkoutUrl: string | undefined
  subscriptionRef: string | undefined
  /** The key that this order opens once it is paid. */
  keyId: string
  keyPrefix: string
  /** Payments that were granted so far. */
  payments: number
  /** When what was paid for ends; undefined: never, or not paid yet. */
  paidUntil: Date | undefined
  /** True when part of the money was given back, such as an earlier year's: for the operator to see. */
  partlyReturned: boolean
  /** When the key was first shown. */
  claimedAt: Date | undefined
}

/** What an order becomes by what the provider knows. */
export interface Settlement {
  state: OrderState
  subscriptionRef: string | undefined
  payments: number
  paidUntil: Date | undefined
  partlyReturned: boolean
  /** What the key becomes; undefined while nothing was ever paid. */
  key: { state: 'active' | 'stopped'; expiresAt: Date | undefined } | undefined
}

/** So long a key goes on while its renewal is late: cards expire, and banks take their time. */
export const GRACE_MS = 7 * 86_400_000

/** A renewal happens at the very end, and the news of it takes its time: meanwhile nobody who pays is refused. */
const RENEWAL_NOTICE_MS = 3_600_000

/** So long after it was first shown a key may be minted anew with the claim secret. */
export const CLAIM_MS = 24 * 3_600_000

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
    partlyReturned: payments.some(
      ({ returned }, at) =>
        returned === 'partly' || (returned === 'fully' && at < payments.length - 1),
    ),
    key: payments.length === 0 ? undefined : { state: stopped ? 'stopped' : 'active', expiresAt },
  }
}

/** How long a key goes on after what was paid for. */
const EXPIRY_SLACK_MS = { none: 0, over: 0, expected: RENEWAL_NOTICE_MS, late: GRACE_MS }

/** Providers list the newest first, or as they please. */
function byTime(one: Payment, other: Payment): number {
  return one.paidAt.getTime() - other.paidAt.getTime() || (one.ref < other.ref ? -1 : 1)
}

/** A renewal goes on where the old end was, or starts when it is paid if the plan had lapsed by then. */
function paidUntilOf({ months }: Pick<Plan, 'months'>, payments: readonly Payment[]) {
  if (months === undefined) return undefined
  // Counted from the first payment of the row, as providers do: from the 31st on, each month ends as late as it can.
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

/** A dispute stops the key whichever payment it is about; money given back, only if it was the last one's. */
function stopReason(payments: readonly Payment[]): 'refunded' | 'disputed' | undefined {
  if (payments.some(({ disputed }) => disputed !== 'no')) return 'disputed'
  return payments.at(-1)?.returned === 'fully' ? 'refunded' : undefined
}
