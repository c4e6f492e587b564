import type { Stripe } from 'stripe'
import { addMonths } from '../../../../src/shared/plan.ts'

// What Stripe would store, reduced to the fields that src/shop/pay reads. Each shape is checked against Stripe's own types,
// so a field Stripe does not have does not compile. Objects refer to each other by id.

export interface Price {
  id: string
  currency: string
  unitAmount: number
  /** Undefined: paid once. */
  months: number | undefined
}

export interface NewCheckout {
  price: Price
  mode: 'payment' | 'subscription'
  orderId: string | null
  metadata: Record<string, string>
  /** Metadata of the payment intent or of the subscription. */
  childMetadata: Record<string, string>
}

export type Outcome = 'succeeded' | 'processing' | 'failed'

export const session = ({ price, mode, orderId, metadata }: NewCheckout) =>
  ({
    object: 'checkout.session' as const,
    amount_total: price.unitAmount,
    client_reference_id: orderId,
    currency: price.currency,
    metadata,
    mode,
    payment_intent: null as string | null,
    payment_status: 'unpaid' as Stripe.Checkout.Session.PaymentStatus,
    status: 'open' as Stripe.Checkout.Session.Status,
    subscription: null as string | null,
    url: null as string | null,
  }) satisfies Partial<Stripe.Checkout.Session>

export const intent = (amount: number, currency: string, metadata: Record<string, string>) =>
  ({
    object: 'payment_intent' as const,
    amount,
    amount_received: 0,
    currency,
    latest_charge: null as string | null,
    metadata,
    status: 'requires_payment_method' as Stripe.PaymentIntent.Status,
  }) satisfies Partial<Stripe.PaymentIntent>

export const charge = ({ id, amount, currency, metadata }: StripeObjects['payment_intent']) =>
  ({
    object: 'charge' as const,
    amount,
    amount_captured: 0,
    amount_refunded: 0,
    currency,
    disputed: false as boolean,
    // Stripe copies the metadata of the intent when it charges.
    metadata: { ...metadata },
    paid: false as boolean,
    payment_intent: id,
    refunded: false as boolean,
    status: 'pending' as Stripe.Charge.Status,
  }) satisfies Partial<Stripe.Charge>

export const refund = (amount: number, { id, payment_intent }: StripeObjects['charge']) =>
  ({
    object: 'refund' as const,
    amount,
    charge: id,
    payment_intent,
    status: 'succeeded',
  }) satisfies Partial<Stripe.Refund>

export const dispute = (status: string, { id, payment_intent }: StripeObjects['charge']) =>
  ({
    object: 'dispute' as const,
    charge: id,
    payment_intent,
    status: status as Stripe.Dispute.Status,
  }) satisfies Partial<Stripe.Dispute>

export const subscription = (start: number, price: Price, metadata: Record<string, string>) => ({
  object: 'subscription' as const,
  cancel_at: null as number | null,
  cancel_at_period_end: false,
  items: { data: [period(start, price)] },
  latest_invoice: '',
  metadata,
  status: 'incomplete' as Stripe.Subscription.Status,
})

export const period = (start: number, { months = 0 }: Price) =>
  ({
    current_period_start: start,
    current_period_end: addMonths(new Date(start * 1_000), months).getTime() / 1_000,
  }) satisfies Partial<Stripe.SubscriptionItem>

export const invoice = (
  { id, metadata }: StripeObjects['subscription'],
  { currency }: Price,
  billing_reason: 'subscription_create' | 'subscription_cycle',
) => ({
  object: 'invoice' as const,
  amount_paid: 0,
  billing_reason,
  currency,
  parent: { subscription_details: { metadata: { ...metadata }, subscription: id } },
  status: 'draft' as Stripe.Invoice.Status,
  status_transitions: { paid_at: null as number | null },
})

/** The intent behind an invoice carries no metadata of ours: only the invoice payment links the two. */
export const invoicePayment = (invoiceId: string, intentId: string) => ({
  object: 'invoice_payment' as const,
  invoice: invoiceId,
  payment: { type: 'payment_intent' as const, payment_intent: intentId },
  status: 'open' as Stripe.InvoicePayment['status'],
})

interface Common {
  id: string
  created: number
  livemode: boolean
}

export interface StripeObjects {
  'checkout.session': ReturnType<typeof session> & Common
  payment_intent: ReturnType<typeof intent> & Common
  charge: ReturnType<typeof charge> & Common
  refund: ReturnType<typeof refund> & Common
  dispute: ReturnType<typeof dispute> & Common
  subscription: ReturnType<typeof subscription> & Common
  invoice: ReturnType<typeof invoice> & Common
  invoice_payment: ReturnType<typeof invoicePayment> & Common
}
export type StripeKind = keyof StripeObjects
export type StripeObject = StripeObjects[StripeKind]

export interface StripeEvent extends Common {
  object: 'event'
  type: string
  data: { object: StripeObject }
}

export type StripeState = ReturnType<typeof openStripeState>

export function openStripeState({ now, live }: { now(): Date; live: boolean }) {
  const objects = new Map<string, StripeObject>()
  const events: StripeEvent[] = []
  let lastId = 0
  const seconds = () => Math.floor(now().getTime() / 1_000)
  const common = (prefix: string): Common => ({
    id: `${prefix}_${String(++lastId).padStart(14, '0')}`,
    created: seconds(),
    livemode: live,
  })

  return {
    live,
    objects,
    events,
    prices: new Map<string, Price>(),
    /** What each checkout sells. */
    checkouts: new Map<string, NewCheckout>(),
    seconds,
    add<Fields extends { object: StripeKind }>(prefix: string, fields: Fields): Fields & Common {
      const made = { ...common(prefix), ...fields }
      objects.set(made.id, made as unknown as StripeObject)
      return made
    },
    get<Kind extends StripeKind>(kind: Kind, id: string | null): StripeObjects[Kind] {
      const found = objects.get(id ?? '')
      if (found?.object !== kind) throw new Error(`the Stripe double has no ${kind} ${id}`)
      return found as StripeObjects[Kind]
    },
    /** Newest first, as all of Stripe's lists. */
    list<Kind extends StripeKind>(kind: Kind): StripeObjects[Kind][] {
      const all = [...objects.values()].filter(({ object }) => object === kind)
      return all.reverse() as StripeObjects[Kind][]
    },
    /** Records an event with a copy of the object as it is now. */
    emit(type: string, object: StripeObject): void {
      const data = { object: structuredClone(object) }
      events.push({ ...common('evt'), object: 'event', type, data })
    },
  }
}
