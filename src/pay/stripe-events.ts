import { Stripe } from 'stripe'
import type { KeyMode } from '../core/key.ts'
import { Problem } from '../core/problem.ts'
import type { OrderHint } from './provider.ts'
import { callStripe } from './stripe-client.ts'

/** What an event says of an order, before anybody was asked. */
export interface EventRefs {
  id: string
  type: string
  hint: OrderHint | undefined
  /** A payment that Stripe must be asked about to know the order. */
  intent: string | undefined
}

type ObjectRefs = Partial<OrderHint> & { intent?: string | undefined }

// An event's object has the shape of the API version that the endpoint was made with, which may be older than ours. So
// it is read field by field, and only for names: what they stand for is always read again from Stripe.
const REFS_BY_TYPE = new Map<string, (object: unknown) => ObjectRefs>([
  ['checkout.session.completed', checkoutRefs],
  ['checkout.session.async_payment_succeeded', checkoutRefs],
  ['checkout.session.async_payment_failed', checkoutRefs],
  ['checkout.session.expired', checkoutRefs],
  ['invoice.paid', invoiceRefs],
  ['invoice.payment_failed', invoiceRefs],
  ['customer.subscription.updated', subscriptionRefs],
  ['customer.subscription.deleted', subscriptionRefs],
  ['charge.refunded', paymentRefs],
  ['refund.created', paymentRefs],
  ['refund.updated', paymentRefs],
  ['refund.failed', paymentRefs],
  ['charge.dispute.created', paymentRefs],
  ['charge.dispute.updated', paymentRefs],
  ['charge.dispute.closed', paymentRefs],
  ['charge.dispute.funds_withdrawn', paymentRefs],
  ['charge.dispute.funds_reinstated', paymentRefs],
])

/** Stripe lists events of up to 20 types at once. */
export const EVENT_TYPES: readonly string[] = [...REFS_BY_TYPE.keys()]

/** Nothing is seen in events of the other mode, of another account, and of types that change no order. */
export function eventRefs(event: unknown, mode: KeyMode): EventRefs {
  const id = textAt(event, 'id')
  const type = textAt(event, 'type')
  if (!id || !type) throw new Problem('invalid_parameter', 'body: it is no event of Stripe.')
  const ours = fieldAt(event, 'livemode') === (mode === 'live') && !fieldAt(event, 'account')
  const seen: ObjectRefs =
    (ours && REFS_BY_TYPE.get(type)?.(fieldAt(event, 'data', 'object'))) || {}
  return { id, type, hint: orderHint(seen), intent: seen.intent }
}

/** The subscription of an invoice, in the words of old and of new API versions. */
export function invoiceRefs(invoice: unknown): ObjectRefs {
  const details = fieldAt(invoice, 'parent', 'subscription_details')
  return {
    subscriptionRef: idAt(details, 'subscription') ?? idAt(invoice, 'subscription'),
    orderId:
      textAt(details, 'metadata', 'order_id') ??
      textAt(invoice, 'subscription_details', 'metadata', 'order_id'),
  }
}

export function orderHint({
  checkoutRef,
  subscriptionRef,
  orderId,
}: ObjectRefs): OrderHint | undefined {
  const hint = { checkoutRef, subscriptionRef, orderId }
  return checkoutRef || subscriptionRef || orderId ? hint : undefined
}

function checkoutRefs(session: unknown): ObjectRefs {
  return {
    checkoutRef: textAt(session, 'id'),
    subscriptionRef: idAt(session, 'subscription'),
    orderId: textAt(session, 'metadata', 'order_id'),
  }
}

function subscriptionRefs(subscription: unknown): ObjectRefs {
  return {
    subscriptionRef: textAt(subscription, 'id'),
    orderId: textAt(subscription, 'metadata', 'order_id'),
  }
}

/** A charge has a copy of what we wrote on its payment; a refund and a dispute do not, and neither does a renewal. */
function paymentRefs(thing: unknown): ObjectRefs {
  const orderId = textAt(thing, 'metadata', 'order_id')
  return orderId ? { orderId } : { intent: idAt(thing, 'payment_intent') }
}

function fieldAt(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>(
    (part, name) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, name)
        ? (part as Record<string, unknown>)[name]
        : undefined,
    value,
  )
}

function textAt(value: unknown, ...path: string[]): string | undefined {
  const found = fieldAt(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Of a thing that is named, or there as a whole. */
function idAt(value: unknown, ...path: string[]): string | undefined {
  return textAt(value, ...path) ?? textAt(value, ...path, 'id')
}

// Stripe lists the newest first, and we want the oldest: so many are held at once.
const MAX_BUFFERED = 2_000
const PAGE = 100

interface TimeRange {
  since: Date
  now: Date
}

/** Every event of the types we know since then, oldest first. Stripe remembers 30 days. */
export async function* eventsSince(
  client: Stripe,
  { since, now }: TimeRange,
  maxBuffered = MAX_BUFFERED,
): AsyncGenerator<Stripe.Event> {
  // The second of now is in: what happens later within it is heard next time.
  const from = Math.floor(since.getTime() / 1_000)
  const before = Math.floor(now.getTime() / 1_000) + 1
  yield* eventsBetween(client, { from, before }, maxBuffered)
}

interface SecondsRange {
  from: number
  before: number
}

async function* eventsBetween(
  client: Stripe,
  { from, before }: SecondsRange,
  mostHeld: number,
): AsyncGenerator<Stripe.Event> {
  const events = await callStripe(() =>
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
  yield* eventsBetween(client, { from, before: middle }, mostHeld)
  yield* eventsBetween(client, { from: middle, before }, mostHeld)
}

const TOLERANCE_SECONDS = 300

interface VerifyDeps {
  webhookSecrets: readonly string[]
  now(): Date
}

/** The event in these bytes, if Stripe signed them with one of our secrets, and did so just now. */
export function verifyEvent(
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
