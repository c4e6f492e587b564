import type { KeyMode } from '../core/key.ts'
import { Problem } from '../core/problem.ts'
import type { OrderHint } from './pay.ts'

/** What an event says of an order, before anybody was asked. */
export interface Glimpse {
  id: string
  type: string
  hint: OrderHint | undefined
  /** A payment that Stripe must be asked about to know the order. */
  intent: string | undefined
}

type Seen = Partial<OrderHint> & { intent?: string | undefined }

// An event's object has the shape of the API version that the endpoint was made with, which may be older than ours. So
// it is read field by field, and only for names: what they stand for is always read again from Stripe.
const LOOKS = new Map<string, (object: unknown) => Seen>([
  ['checkout.session.completed', atCheckout],
  ['checkout.session.async_payment_succeeded', atCheckout],
  ['checkout.session.async_payment_failed', atCheckout],
  ['checkout.session.expired', atCheckout],
  ['invoice.paid', atInvoice],
  ['invoice.payment_failed', atInvoice],
  ['customer.subscription.updated', atSubscription],
  ['customer.subscription.deleted', atSubscription],
  ['charge.refunded', atPayment],
  ['refund.created', atPayment],
  ['refund.updated', atPayment],
  ['refund.failed', atPayment],
  ['charge.dispute.created', atPayment],
  ['charge.dispute.updated', atPayment],
  ['charge.dispute.closed', atPayment],
  ['charge.dispute.funds_withdrawn', atPayment],
  ['charge.dispute.funds_reinstated', atPayment],
])

/** Stripe lists events of up to 20 types at once. */
export const EVENT_TYPES: readonly string[] = [...LOOKS.keys()]

/** Nothing is seen in events of the other mode, of another account, and of types that change no order. */
export function glimpseOf(event: unknown, mode: KeyMode): Glimpse {
  const id = textIn(event, 'id')
  const type = textIn(event, 'type')
  if (!id || !type) throw new Problem('invalid_parameter', 'body: it is no event of Stripe.')
  const ours = fieldIn(event, 'livemode') === (mode === 'live') && !fieldIn(event, 'account')
  const seen: Seen = (ours && LOOKS.get(type)?.(fieldIn(event, 'data', 'object'))) || {}
  return { id, type, hint: hintOf(seen), intent: seen.intent }
}

/** The subscription of an invoice, in the words of old and of new API versions. */
export function atInvoice(invoice: unknown): Seen {
  const details = fieldIn(invoice, 'parent', 'subscription_details')
  return {
    subscriptionRef: idIn(details, 'subscription') ?? idIn(invoice, 'subscription'),
    orderId:
      textIn(details, 'metadata', 'order_id') ??
      textIn(invoice, 'subscription_details', 'metadata', 'order_id'),
  }
}

export function hintOf({ checkoutRef, subscriptionRef, orderId }: Seen): OrderHint | undefined {
  const hint = { checkoutRef, subscriptionRef, orderId }
  return checkoutRef || subscriptionRef || orderId ? hint : undefined
}

function atCheckout(session: unknown): Seen {
  return {
    checkoutRef: textIn(session, 'id'),
    subscriptionRef: idIn(session, 'subscription'),
    orderId: textIn(session, 'metadata', 'order_id'),
  }
}

function atSubscription(subscription: unknown): Seen {
  return {
    subscriptionRef: textIn(subscription, 'id'),
    orderId: textIn(subscription, 'metadata', 'order_id'),
  }
}

/** A charge has a copy of what we wrote on its payment; a refund and a dispute do not, and neither does a renewal. */
function atPayment(thing: unknown): Seen {
  const orderId = textIn(thing, 'metadata', 'order_id')
  return orderId ? { orderId } : { intent: idIn(thing, 'payment_intent') }
}

function fieldIn(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (part, name) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, name)
        ? (part as Record<string, unknown>)[name]
        : undefined,
    value,
  )
}

function textIn(value: unknown, ...path: string[]): string | undefined {
  const found = fieldIn(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Of a thing that is named, or there as a whole. */
function idIn(value: unknown, ...path: string[]): string | undefined {
  return textIn(value, ...path) ?? textIn(value, ...path, 'id')
}
