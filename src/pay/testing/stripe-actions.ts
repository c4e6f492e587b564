import { complete, expireCheckout, settleLater } from './stripe-checkouts.ts'
import type { Ledger } from './stripe-ledger.ts'
import { dispute, failRefund, moveDispute, refund } from './stripe-payments.ts'
import type { ObjectOf, Price, StripeKind } from './stripe-shapes.ts'
import { cancel, collect, dropPayment, giveUp, startPeriod } from './stripe-subscriptions.ts'

/** All that can happen at Stripe. Each is told as events, see take(); ids are Stripe's (`cs_…`, `sub_…`, `ch_…`). */
export interface Actions {
  /** A price of the dashboard. */
  addPrice(price: Price): void

  /** The buyer pays a checkout, and the money is there. */
  pay(session: string): void
  /** The buyer pays in a way that takes days. */
  payLater(session: string): void
  /** What was paid later came. */
  succeed(session: string): void
  /** What was paid later did not come. */
  fail(session: string): void
  expire(session: string): void

  /** The next period begins; its invoice is a draft, and nobody was asked for money yet. */
  startPeriod(subscription: string): void
  /** The invoice that is due is paid; none due: the next period begins and is paid. */
  renew(subscription: string): void
  /** The same, but the card is refused. */
  failRenewal(subscription: string): void
  /** After a failed renewal: its payment is given up, and renew() pays by another. */
  dropPayment(subscription: string): void
  cancel(subscription: string): void
  cancelAtPeriodEnd(subscription: string): void
  /** Stripe stops trying: the subscription stays unpaid. */
  stopRetrying(subscription: string): void

  /** All that is left, unless told. Returns the refund. */
  refund(charge: string, amount?: number): string
  failRefund(refund: string): void
  /** Returns the dispute. `warning_needs_response` is only a bank's question. */
  dispute(charge: string, status?: string): string
  /** `under_review`, `won`, `lost`, `warning_closed`, … */
  moveDispute(dispute: string, status: string): void
  win(dispute: string): void
  lose(dispute: string): void

  /** Of a checkout that was paid for. */
  subscriptionOf(session: string): string
  /** The charges of a checkout and of all its renewals, the first one first. */
  chargesOf(session: string): string[]
  /** The checkouts of an order, the first one first. */
  sessionsOf(order: string): string[]
  /** Changes what Stripe remembers behind everybody's back; no event tells. */
  overwrite<Kind extends StripeKind>(kind: Kind, id: string, change: Partial<ObjectOf<Kind>>): void
  /** What Stripe remembers. */
  read<Kind extends StripeKind>(kind: Kind, id: string): ObjectOf<Kind>
}

export function actionsOf(ledger: Ledger): Actions {
  const startWhenPaid = (id: string) => {
    const { latest_invoice } = ledger.get('subscription', id)
    if (ledger.get('invoice', latest_invoice).status === 'paid') startPeriod(ledger, id)
  }
  const subscriptionOf = (session: string) =>
    ledger.get('subscription', ledger.get('checkout.session', session).subscription).id

  return {
    addPrice: (price) => void ledger.prices.set(price.id, price),
    pay: (session) => void complete(ledger, session, 'succeeded'),
    payLater: (session) => void complete(ledger, session, 'processing'),
    succeed: (session) => settleLater(ledger, session, 'succeeded'),
    fail: (session) => settleLater(ledger, session, 'failed'),
    expire: (session) => expireCheckout(ledger, session),
    startPeriod: (subscription) => startPeriod(ledger, subscription),
    renew(subscription) {
      startWhenPaid(subscription)
      collect(ledger, subscription, 'succeeded')
    },
    failRenewal(subscription) {
      startWhenPaid(subscription)
      collect(ledger, subscription, 'failed')
    },
    dropPayment: (subscription) => dropPayment(ledger, subscription),
    cancel: (subscription) => cancel(ledger, subscription, 'now'),
    cancelAtPeriodEnd: (subscription) => cancel(ledger, subscription, 'at period end'),
    stopRetrying: (subscription) => giveUp(ledger, subscription),
    refund: (charge, amount) => refund(ledger, charge, amount),
    failRefund: (id) => failRefund(ledger, id),
    dispute: (charge, status) => dispute(ledger, charge, status),
    moveDispute: (id, status) => moveDispute(ledger, id, status),
    win: (id) => moveDispute(ledger, id, 'won'),
    lose: (id) => moveDispute(ledger, id, 'lost'),
    subscriptionOf,
    chargesOf: (session) => chargesOf(ledger, session),
    sessionsOf: (order) =>
      ledger
        .list('checkout.session')
        .filter(({ client_reference_id }) => client_reference_id === order)
        .map(({ id }) => id)
        .reverse(),
    overwrite: (kind, id, change) => void Object.assign(ledger.get(kind, id), change),
    read: (kind, id) => ledger.get(kind, id),
  }
}

function chargesOf(ledger: Ledger, session: string): string[] {
  const { payment_intent, subscription } = ledger.get('checkout.session', session)
  const intents = subscription
    ? ledger
        .list('invoice_payment')
        .filter(({ status }) => status !== 'canceled')
        .filter(({ invoice }) => subscriptionOfInvoice(ledger, invoice) === subscription)
        .map(({ payment }) => payment.payment_intent)
        .reverse()
    : [payment_intent]
  return intents.flatMap((id) => ledger.get('payment_intent', id).latest_charge ?? [])
}

function subscriptionOfInvoice(ledger: Ledger, id: string): unknown {
  return ledger.get('invoice', id).parent?.subscription_details?.subscription
}
