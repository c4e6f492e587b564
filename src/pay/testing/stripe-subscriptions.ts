import { addMonths } from '../../core/plan.ts'
import type { Ledger } from './stripe-ledger.ts'
import { type Attempt, attempt, openIntent } from './stripe-payments.ts'
import type { Invoice, InvoicePayment, Price, Subscription } from './stripe-shapes.ts'

/** A subscription with its first period and that period's invoice, still to be paid. */
export function subscribe(
  ledger: Ledger,
  price: Price,
  metadata: Record<string, string>,
): Subscription {
  const id = ledger.makeId('sub')
  const start = ledger.seconds()
  const subscription = ledger.add<Subscription>({
    id,
    object: 'subscription',
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    created: start,
    currency: price.currency,
    ended_at: null,
    items: {
      object: 'list',
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
      data: [
        {
          id: ledger.makeId('si'),
          object: 'subscription_item',
          created: start,
          current_period_start: start,
          current_period_end: periodEnd(start, price),
          price: {
            id: price.id,
            object: 'price',
            currency: price.currency,
            unit_amount: price.unitAmount,
          },
          subscription: id,
        },
      ],
    },
    latest_invoice: null,
    livemode: ledger.live,
    metadata,
    start_date: start,
    status: 'incomplete',
  })
  ledger.prices.set(price.id, price)
  bill(ledger, subscription, 'subscription_create')
  ledger.tell('customer.subscription.created', subscription)
  return subscription
}

/** The next period begins, and its invoice is a draft for about an hour: nobody was asked for money yet. */
export function startPeriod(ledger: Ledger, id: string): void {
  const subscription = ledger.get('subscription', id)
  const item = itemOf(subscription)
  item.current_period_start = item.current_period_end
  item.current_period_end = periodEnd(item.current_period_start, priceOf(ledger, subscription))
  bill(ledger, subscription, 'subscription_cycle').status = 'draft'
  ledger.tell('customer.subscription.updated', subscription)
}

/** Tries to take the money for the newest invoice, and moves invoice and subscription as Stripe does. */
export function collect(ledger: Ledger, id: string, outcome: Attempt): void {
  const subscription = ledger.get('subscription', id)
  const invoice = ledger.get('invoice', subscription.latest_invoice)
  const paying = paymentOf(ledger, invoice)
  invoice.status = outcome === 'succeeded' ? 'paid' : 'open'
  invoice.attempt_count += 1
  attempt(ledger, ledger.get('payment_intent', paying.payment.payment_intent), outcome)
  if (outcome === 'succeeded') {
    invoice.amount_paid = invoice.total
    invoice.amount_remaining = 0
    invoice.status_transitions.paid_at = ledger.seconds()
    paying.status = 'paid'
    paying.amount_paid = invoice.total
    paying.status_transitions.paid_at = ledger.seconds()
    ledger.tell('invoice.paid', invoice)
  }
  if (outcome === 'failed') ledger.tell('invoice.payment_failed', invoice)
  const before = subscription.status
  subscription.status = outcome === 'failed' ? 'past_due' : 'active'
  if (before !== subscription.status) ledger.tell('customer.subscription.updated', subscription)
}

/** What was tried for the newest invoice is given up; the next attempt is another payment. */
export function dropPayment(ledger: Ledger, id: string): void {
  const { latest_invoice } = ledger.get('subscription', id)
  const dropped = paymentOf(ledger, ledger.get('invoice', latest_invoice))
  dropped.status = 'canceled'
  dropped.status_transitions.canceled_at = ledger.seconds()
  ledger.get('payment_intent', dropped.payment.payment_intent).status = 'canceled'
}

/** Ends it now, or notes that there will be no further period. */
export function cancel(ledger: Ledger, id: string, when: 'now' | 'at period end'): void {
  const subscription = ledger.get('subscription', id)
  subscription.canceled_at = ledger.seconds()
  if (when === 'at period end') {
    subscription.cancel_at_period_end = true
    subscription.cancel_at = itemOf(subscription).current_period_end
    ledger.tell('customer.subscription.updated', subscription)
    return
  }
  subscription.status = 'canceled'
  subscription.ended_at = ledger.seconds()
  ledger.tell('customer.subscription.deleted', subscription)
}

/** Stripe stops asking for the money: by the account's settings the subscription is left unpaid. */
export function giveUp(ledger: Ledger, id: string): void {
  const subscription = ledger.get('subscription', id)
  subscription.status = 'unpaid'
  ledger.tell('customer.subscription.updated', subscription)
}

function bill(
  ledger: Ledger,
  subscription: Subscription,
  reason: 'subscription_create' | 'subscription_cycle',
): Invoice {
  const { unitAmount, currency } = priceOf(ledger, subscription)
  const invoice = ledger.add<Invoice>({
    id: ledger.makeId('in'),
    object: 'invoice',
    amount_due: unitAmount,
    amount_paid: 0,
    amount_remaining: unitAmount,
    attempt_count: 0,
    billing_reason: reason,
    // A test may renew before it moves the clock. Stripe never bills a period that has not begun.
    created: Math.max(ledger.seconds(), itemOf(subscription).current_period_start),
    currency,
    livemode: ledger.live,
    metadata: {},
    parent: {
      type: 'subscription_details',
      quote_details: null,
      subscription_details: {
        metadata: { ...subscription.metadata },
        subscription: subscription.id,
      },
    },
    // Stripe's own surprise: the period of an invoice is the one that is over, not the one that it sells.
    period_start: reason === 'subscription_create' ? ledger.seconds() : subscription.start_date,
    period_end: ledger.seconds(),
    status: 'open',
    status_transitions: {
      finalized_at: null,
      marked_uncollectible_at: null,
      paid_at: null,
      voided_at: null,
    },
    total: unitAmount,
  })
  subscription.latest_invoice = invoice.id
  return invoice
}

/** One invoice payment per invoice, with an intent that knows nothing of our order: so it is with Stripe. */
function paymentOf(ledger: Ledger, invoice: Invoice): InvoicePayment {
  const known = ledger
    .list('invoice_payment')
    .find((payment) => payment.invoice === invoice.id && payment.status !== 'canceled')
  if (known) return known
  const { total: amount, currency } = invoice
  return ledger.add<InvoicePayment>({
    id: ledger.makeId('inpay'),
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: amount,
    created: ledger.seconds(),
    currency,
    invoice: invoice.id,
    is_default: true,
    livemode: ledger.live,
    payment: {
      type: 'payment_intent',
      payment_intent: openIntent(ledger, { amount, currency }, {}).id,
    },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  })
}

function itemOf({ items }: Subscription) {
  const [item] = items.data
  if (!item) throw new Error('a subscription of the fake Stripe has one item')
  return item
}

function priceOf(ledger: Ledger, subscription: Subscription): Price {
  const price = ledger.prices.get(itemOf(subscription).price.id)
  if (!price) throw new Error('a subscription of the fake Stripe has a price')
  return price
}

function periodEnd(start: number, { months }: Price): number {
  return addMonths(new Date(start * 1_000), months ?? 0).getTime() / 1_000
}
