import type { Stripe } from 'stripe'

// What the fake Stripe keeps, cut from Stripe's own types: a field that Stripe does not have does not compile. Things
// point to each other by id, and become whole only where a request asks to expand them.

export interface CheckoutSession
  extends Pick<
    Stripe.Checkout.Session,
    | 'id'
    | 'object'
    | 'amount_subtotal'
    | 'amount_total'
    | 'cancel_url'
    | 'client_reference_id'
    | 'created'
    | 'currency'
    | 'customer_email'
    | 'expires_at'
    | 'livemode'
    | 'metadata'
    | 'mode'
    | 'payment_status'
    | 'status'
    | 'success_url'
    | 'url'
  > {
  invoice: string | null
  payment_intent: string | null
  subscription: string | null
}

export interface PaymentIntent
  extends Pick<
    Stripe.PaymentIntent,
    | 'id'
    | 'object'
    | 'amount'
    | 'amount_received'
    | 'created'
    | 'currency'
    | 'livemode'
    | 'metadata'
    | 'status'
  > {
  latest_charge: string | null
}

export interface Charge
  extends Pick<
    Stripe.Charge,
    | 'id'
    | 'object'
    | 'amount'
    | 'amount_captured'
    | 'amount_refunded'
    | 'captured'
    | 'created'
    | 'currency'
    | 'disputed'
    | 'livemode'
    | 'metadata'
    | 'paid'
    | 'refunded'
    | 'status'
  > {
  payment_intent: string
}

export interface Refund
  extends Pick<
    Stripe.Refund,
    'id' | 'object' | 'amount' | 'created' | 'currency' | 'metadata' | 'status'
  > {
  charge: string
  payment_intent: string
}

export interface Dispute
  extends Pick<
    Stripe.Dispute,
    'id' | 'object' | 'amount' | 'created' | 'currency' | 'livemode' | 'metadata' | 'status'
  > {
  charge: string
  payment_intent: string
  reason: string
}

export interface Subscription
  extends Pick<
    Stripe.Subscription,
    | 'id'
    | 'object'
    | 'cancel_at'
    | 'cancel_at_period_end'
    | 'canceled_at'
    | 'created'
    | 'currency'
    | 'ended_at'
    | 'livemode'
    | 'metadata'
    | 'start_date'
    | 'status'
  > {
  latest_invoice: string | null
  items: { object: 'list'; data: SubscriptionItem[]; has_more: boolean; url: string }
}

export type SubscriptionItem = Pick<
  Stripe.SubscriptionItem,
  'id' | 'object' | 'created' | 'current_period_end' | 'current_period_start' | 'subscription'
> & { price: Pick<Stripe.Price, 'id' | 'object' | 'currency' | 'unit_amount'> }

export interface Invoice
  extends Pick<
    Stripe.Invoice,
    | 'id'
    | 'object'
    | 'amount_due'
    | 'amount_paid'
    | 'amount_remaining'
    | 'attempt_count'
    | 'billing_reason'
    | 'created'
    | 'currency'
    | 'livemode'
    | 'metadata'
    | 'parent'
    | 'period_end'
    | 'period_start'
    | 'status'
    | 'status_transitions'
    | 'total'
  > {
  id: string
}

export interface InvoicePayment
  extends Pick<
    Stripe.InvoicePayment,
    | 'id'
    | 'object'
    | 'amount_paid'
    | 'amount_requested'
    | 'created'
    | 'currency'
    | 'is_default'
    | 'livemode'
    | 'status'
    | 'status_transitions'
  > {
  invoice: string
  payment: { type: 'payment_intent'; payment_intent: string }
}

export type StripeObject =
  | CheckoutSession
  | PaymentIntent
  | Charge
  | Refund
  | Dispute
  | Subscription
  | Invoice
  | InvoicePayment

export type StripeKind = StripeObject['object']

export type ObjectOf<Kind extends StripeKind> = Extract<StripeObject, { object: Kind }>

export interface StripeEvent
  extends Pick<
    Stripe.EventBase,
    'id' | 'object' | 'account' | 'api_version' | 'created' | 'livemode' | 'pending_webhooks'
  > {
  type: string
  request: { id: string | null; idempotency_key: string | null }
  data: { object: StripeObject }
}

/** What is sold: configured beforehand, or told with the checkout. */
export interface Price {
  id: string
  currency: string
  unitAmount: number
  /** Undefined: paid once. */
  months: number | undefined
}
