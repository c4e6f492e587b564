import { Stripe } from 'stripe'
import type { KeyMode } from '../core/key.ts'
import { Problem } from '../core/problem.ts'
import type { OrderHint } from './pay.ts'
import { asking } from './stripe-client.ts'

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

// Stripe lists the newest first, and we want the oldest: so many are held at once.
const MOST_HELD = 2_000
const PAGE = 100

interface Span {
  since: Date
  now: Date
}

/** Every event of the types we know since then, oldest first. Stripe remembers 30 days. */
export async function* missedEvents(
  client: Stripe,
  { since, now }: Span,
  mostHeld = MOST_HELD,
): AsyncGenerator<Stripe.Event> {
  // The second of now is in: what happens later within it is heard next time.
  const from = Math.floor(since.getTime() / 1_000)
  const before = Math.floor(now.getTime() / 1_000) + 1
  yield* eventsIn(client, { from, before }, mostHeld)
}

interface Seconds {
  from: number
  before: number
}

async function* eventsIn(
  client: Stripe,
  { from, before }: Seconds,
  mostHeld: number,
): AsyncGenerator<Stripe.Event> {
  const events = await asking(() =>
    client.events
      .list({ types: [...EVENT_TYPES], created: { gte: from, lt: before }, limit: PAGE })
      .autoPagingToArray({ limit: mostHeld + 1 }),
  )
  if (events.length <= mostHeld) {
    yield* events.reverse()
    return
  }
  const middle = Math.floor((from + before) / 2)
  if (middle === from) throw new Error(`Stripe has more than ${mostHeld} events of one second`)
  yield* eventsIn(client, { from, before: middle }, mostHeld)
  yield* eventsIn(client, { from: middle, before }, mostHeld)
}

const TOLERANCE_SECONDS = 300

interface VerifyDeps {
  webhookSecrets: readonly string[]
  now(): Date
}

/** The event in these bytes, if Stripe signed them with one of our secrets, and did so just now. */
export function verifiedEvent(
  raw: Uint8Array,
  signature: string | undefined,
  { webhookSecrets, now }: VerifyDeps,
): unknown {
  if (!signature) throw new Problem('invalid_parameter', 'Stripe-Signature: the header is missing.')
  const time = now().getTime()
  // Stripe's own check lets any time to come pass: such a message could be repeated for as long.
  const early = signedAt(signature) - Math.floor(time / 1_000)
  if (early <= TOLERANCE_SECONDS) {
    for (const secret of webhookSecrets) {
      try {
        return constructEvent(raw, signature, secret, TOLERANCE_SECONDS, undefined, time)
      } catch {
        // Another secret, or a header made to confuse: for that it throws other errors than its own. None of them may
        // be passed on, because they hold the whole message.
      }
    }
  }
  throw new Problem(
    'invalid_parameter',
    `Stripe-Signature: it does not fit this body, or is not of the last ${TOLERANCE_SECONDS} seconds.`,
  )
}

const constructEvent = Stripe.webhooks.constructEvent.bind(Stripe.webhooks)

/** The last one, as in Stripe's own reading: that is the one which was signed. */
function signedAt(signature: string): number {
  const [, time] = signature
    .split(',')
    .map((part) => part.split('='))
    .findLast(([name]) => name === 't') ?? [undefined, undefined]
  return Number.parseInt(time ?? '', 10)
}
