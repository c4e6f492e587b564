import type { Ledger } from './stripe-ledger.ts'
import { type Attempt, attempt, openIntent } from './stripe-payments.ts'
import type { CheckoutSession, Price } from './stripe-shapes.ts'
import { collect, subscribe } from './stripe-subscriptions.ts'

const DAY_SECONDS = 86_400

export interface NewCheckout
  extends Pick<
    CheckoutSession,
    'cancel_url' | 'client_reference_id' | 'customer_email' | 'metadata' | 'mode' | 'success_url'
  > {
  price: Price
  /** What the intent or the subscription gets as its own metadata. */
  handedOn: Record<string, string>
}

export function openCheckout(
  ledger: Ledger,
  { price, handedOn, ...asked }: NewCheckout,
  url: string,
): CheckoutSession {
  const id = ledger.makeId(ledger.live ? 'cs_live' : 'cs_test')
  ledger.orders.set(id, { price, handedOn })
  return ledger.add<CheckoutSession>({
    id,
    object: 'checkout.session',
    ...asked,
    amount_subtotal: price.unitAmount,
    amount_total: price.unitAmount,
    created: ledger.seconds(),
    currency: price.currency,
    expires_at: ledger.seconds() + DAY_SECONDS,
    invoice: null,
    livemode: ledger.live,
    // Stripe makes both only when the buyer pays.
    payment_intent: null,
    subscription: null,
    payment_status: 'unpaid',
    status: 'open',
    url: `${url}/c/pay/${id}`,
  })
}

/** The buyer goes through the checkout: the money is there at once, or under way. */
export function complete(
  ledger: Ledger,
  id: string,
  outcome: Exclude<Attempt, 'failed'>,
): CheckoutSession {
  const session = ledger.get('checkout.session', id)
  if (session.status !== 'open') throw new Error(`${id} is ${session.status}: nobody can pay it`)
  const order = ledger.orders.get(id)
  if (!order) throw new Error(`the fake Stripe did not open ${id}`)
  const amount = { amount: session.amount_total ?? 0, currency: session.currency ?? '' }
  if (session.mode === 'subscription') {
    const subscription = subscribe(ledger, order.price, order.handedOn)
    session.subscription = subscription.id
    session.invoice = subscription.latest_invoice
    collect(ledger, subscription.id, outcome)
  } else {
    const intent = openIntent(ledger, amount, order.handedOn)
    session.payment_intent = intent.id
    attempt(ledger, intent, outcome)
  }
  session.status = 'complete'
  session.url = null
  session.payment_status = outcome === 'succeeded' ? 'paid' : 'unpaid'
  ledger.tell('checkout.session.completed', session)
  return session
}

/** Money that was under way comes, or does not. */
export function settleLater(
  ledger: Ledger,
  id: string,
  outcome: Exclude<Attempt, 'processing'>,
): void {
  const session = ledger.get('checkout.session', id)
  if (session.subscription) collect(ledger, session.subscription, outcome)
  else attempt(ledger, ledger.get('payment_intent', session.payment_intent), outcome)
  if (outcome === 'succeeded') session.payment_status = 'paid'
  ledger.tell(`checkout.session.async_payment_${outcome}`, session)
}

export function expireCheckout(ledger: Ledger, id: string): void {
  const session = ledger.get('checkout.session', id)
  session.status = 'expired'
  session.url = null
  ledger.tell('checkout.session.expired', session)
}
