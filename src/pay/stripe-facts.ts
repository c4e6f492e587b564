import type { Stripe } from 'stripe'
import type { KeyMode } from '../core/key.ts'
import type { Payment, PaymentFacts, Purchase } from '../core/purchase.ts'
import { modeOf } from './stripe-checkout.ts'
import { hasEnded, renewalOf, type SubscriptionRecord } from './stripe-renewal.ts'
import { disputedOf, isEnough, isSale, returnedOf, type Taking } from './stripe-taking.ts'

type Order = Pick<Purchase, 'id' | 'plan'>

type Session = Pick<
  Stripe.Checkout.Session,
  'amount_total' | 'currency' | 'livemode' | 'metadata' | 'mode' | 'payment_status' | 'status'
>

/** All that Stripe told of an order, read just now. */
export interface OrderRecord {
  session: Session
  /** What was taken, or tried to be, for a plan that is paid once. */
  taking: Taking | undefined
  subscription: SubscriptionRecord | undefined
}

interface Reader {
  mode: KeyMode
  now: Date
}

/** What is known of an order that no checkout was opened for. */
export const UNOPENED: PaymentFacts = {
  state: 'open',
  payments: [],
  renewal: 'none',
  subscriptionRef: undefined,
}

/** What Stripe's record means for the order. Money that is not what was ordered opens nothing. */
export function factsOf(order: Order, record: OrderRecord, { mode, now }: Reader): PaymentFacts {
  const { session, subscription } = record
  if (!isOrdered(order, session, mode)) return { ...UNOPENED, state: stateOf(record) }
  const payments = paymentsOf(order, record)
  return {
    state: payments.length > 0 ? 'paid' : stateOf(record),
    payments,
    renewal: subscription ? renewalOf(order.plan, subscription, now) : 'none',
    subscriptionRef: subscription?.id,
  }
}

function isOrdered({ id, plan }: Order, session: Session, mode: KeyMode): boolean {
  return (
    session.metadata?.['order_id'] === id &&
    session.livemode === (mode === 'live') &&
    session.mode === modeOf(plan) &&
    isEnough(plan, session.amount_total, session.currency)
  )
}

function paymentsOf({ plan }: Order, { taking, subscription }: OrderRecord): Payment[] {
  if (subscription) {
    // The first invoice is the purchase itself: of a subscription only invoices are counted.
    return subscription.bills
      .filter(({ invoice }) => isSale(plan, invoice))
      .map(({ invoice, takings }) => ({
        ref: invoice.id,
        paidAt: timeOf(invoice.status_transitions.paid_at ?? invoice.created),
        returned: returnedOf(takings),
        disputed: disputedOf(takings),
      }))
      .sort((one, other) => one.paidAt.getTime() - other.paidAt.getTime())
  }
  if (taking?.status !== 'succeeded' || !taking.charge) return []
  if (!isEnough(plan, taking.received, taking.currency)) return []
  return [
    {
      ref: taking.ref,
      paidAt: timeOf(taking.charge.created),
      returned: returnedOf([taking]),
      disputed: disputedOf([taking]),
    },
  ]
}

/** Of an order for which nothing counts. */
function stateOf({ session, taking, subscription }: OrderRecord): PaymentFacts['state'] {
  const { status, payment_status } = session
  if (status !== 'complete') return status === 'expired' ? 'expired' : 'open'
  if (payment_status !== 'unpaid' || (subscription && hasEnded(subscription))) return 'failed'
  const tried = subscription ? subscription.bills[0]?.takings : taking && [taking]
  return tried?.some(isOver) ? 'failed' : 'pending'
}

const OVER: readonly string[] = ['succeeded', 'requires_payment_method', 'canceled']

/** No money is under way any more. A voucher that waits to be paid is `requires_action` at Stripe. */
function isOver({ status }: Taking): boolean {
  return OVER.includes(status)
}

function timeOf(seconds: number): Date {
  return new Date(seconds * 1_000)
}
