import { Stripe } from 'stripe'
import { Problem } from '../../base/problem.ts'
import type { KeyMode } from '../../keys/rules.ts'
import type { OrderRefs, PaymentEvent } from './provider.ts'
import { callStripe, ifFound } from './stripe-client.ts'

/** What an event itself says about its order; of a refund or a dispute, perhaps only the payment. */
type EventRefs = Partial<OrderRefs> & { intent?: string | undefined }

// The object of an event has the format of the API version the endpoint was created with, possibly older than ours. So
// only ids are taken from it, field by field; the state is always fetched again.
const REFS_BY_TYPE = new Map<string, (object: unknown) => EventRefs>([
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

/** At most 20: the limit of one request for events. */
export const EVENT_TYPES: readonly string[] = [...REFS_BY_TYPE.keys()]

/** Events of the other mode, of another account or of other types refer to no order. */
export function paymentEvent(client: Stripe, mode: KeyMode, event: unknown): PaymentEvent {
  const id = textAt(event, 'id')
  const type = textAt(event, 'type')
  if (!id || !type) throw new Problem('invalid_parameter', 'No Stripe event in the request body.')
  const ours = fieldAt(event, 'livemode') === (mode === 'live') && !fieldAt(event, 'account')
  const refs = ours ? REFS_BY_TYPE.get(type)?.(fieldAt(event, 'data', 'object')) : undefined
  return {
    id,
    type,
    findRefs: async () => orderRefs(refs) ?? (await callStripe(() => paymentOrder(client, refs))),
  }
}

/** The order of a payment that does not name it. */
async function paymentOrder(client: Stripe, { intent }: EventRefs = {}) {
  const payment = intent && (await ifFound(client.paymentIntents.retrieve(intent)))
  if (!payment) return undefined
  const orderId = payment.metadata['order_id']
  if (orderId) return orderRefs({ orderId })
  // Payments of a subscription carry no metadata of ours; the invoice links payment and subscription.
  const { data } = await client.invoicePayments.list({
    payment: { type: 'payment_intent', payment_intent: intent },
    expand: ['data.invoice'],
    limit: 1,
  })
  return orderRefs(invoiceRefs(data[0]?.invoice))
}

function orderRefs(refs: EventRefs = {}): OrderRefs | undefined {
  const { checkoutRef, subscriptionRef, orderId } = refs
  if (!checkoutRef && !subscriptionRef && !orderId) return undefined
  return { checkoutRef, subscriptionRef, orderId }
}

/** API versions before 2025 have the subscription at another place. */
function invoiceRefs(invoice: unknown): EventRefs {
  const details = fieldAt(invoice, 'parent', 'subscription_details')
  return {
    subscriptionRef: idAt(details, 'subscription') ?? idAt(invoice, 'subscription'),
    orderId:
      textAt(details, 'metadata', 'order_id') ??
      textAt(invoice, 'subscription_details', 'metadata', 'order_id'),
  }
}

function checkoutRefs(session: unknown): EventRefs {
  return {
    checkoutRef: textAt(session, 'id'),
    subscriptionRef: idAt(session, 'subscription'),
    orderId: textAt(session, 'metadata', 'order_id'),
  }
}

function subscriptionRefs(subscription: unknown): EventRefs {
  return {
    subscriptionRef: textAt(subscription, 'id'),
    orderId: textAt(subscription, 'metadata', 'order_id'),
  }
}

/** A charge carries the metadata of its payment intent; refunds, disputes and renewals do not. */
function paymentRefs(thing: unknown): EventRefs {
  const orderId = textAt(thing, 'metadata', 'order_id')
  return orderId ? { orderId } : { intent: idAt(thing, 'payment_intent') }
}

function fieldAt(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((part, name) => {
    const isOwn = typeof part === 'object' && part !== null && Object.hasOwn(part, name)
    return isOwn ? Reflect.get(part, name) : undefined
  }, value)
}

function textAt(value: unknown, ...path: string[]): string | undefined {
  const found = fieldAt(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** The field may hold an id or the expanded object. */
function idAt(value: unknown, ...path: string[]): string | undefined {
  return textAt(value, ...path) ?? textAt(value, ...path, 'id')
}

// Stripe lists newest first and we return oldest first, so a range is buffered.
const MAX_BUFFERED = 2_000
const PAGE = 100

/** All events of our types since then, oldest first. Stripe stores 30 days. */
export async function* eventsSince(
  client: Stripe,
  { since, now }: { since: Date; now: Date },
  maxBuffered = MAX_BUFFERED,
): AsyncGenerator<Stripe.Event> {
  // Includes the current second; events later in it are found next time.
  const from = Math.floor(since.getTime() / 1_000)
  const before = Math.floor(now.getTime() / 1_000) + 1
  yield* eventsBetween(client, { from, before }, maxBuffered)
}

async function* eventsBetween(
  client: Stripe,
  { from, before }: { from: number; before: number },
  maxBuffered: number,
): AsyncGenerator<Stripe.Event> {
  const events = await callStripe(() =>
    client.events
      .list({ types: [...EVENT_TYPES], created: { gte: from, lt: before }, limit: PAGE })
      .autoPagingToArray({ limit: maxBuffered + 1 }),
  )
  if (events.length <= maxBuffered) {
    yield* events.reverse()
    return
  }
  const middle = Math.floor((from + before) / 2)
  if (middle === from) throw new Error(`more than ${maxBuffered} Stripe events in one second`)
  yield* eventsBetween(client, { from, before: middle }, maxBuffered)
  yield* eventsBetween(client, { from: middle, before }, maxBuffered)
}

const TOLERANCE_SECONDS = 300
// Theirs have about 150 characters with two secrets.
const MAX_SIGNATURE = 2_000

/** Parses the event if it was signed with one of our secrets within the tolerance. */
export function verifyEvent(
  raw: Uint8Array,
  signature: string | undefined,
  { webhookSecrets, now }: { webhookSecrets: readonly string[]; now(): Date },
): unknown {
  if (!signature) throw new Problem('invalid_parameter', 'Stripe-Signature: header is missing.')
  const time = now().getTime()
  const isShort = signature.length <= MAX_SIGNATURE
  // Stripe's own check accepts any time in the future: such an event could be replayed until then.
  if (isShort && signedAt(signature) - Math.floor(time / 1_000) <= TOLERANCE_SECONDS) {
    for (const secret of webhookSecrets) {
      try {
        return constructEvent(raw, signature, secret, TOLERANCE_SECONDS, undefined, time)
      } catch {
        // Another secret or a malformed header. Not rethrown: these errors contain the whole body.
      }
    }
  }
  throw new Problem(
    'invalid_parameter',
    `Stripe-Signature: does not match the body, or is older than ${TOLERANCE_SECONDS} seconds.`,
  )
}

const constructEvent = Stripe.webhooks.constructEvent.bind(Stripe.webhooks)

/** The last t= counts, as in Stripe's own parser: that is the signed one. */
function signedAt(signature: string): number {
  const parts = signature.split(',').map((part) => part.split('='))
  return Number.parseInt(parts.findLast(([name]) => name === 't')?.[1] ?? '', 10)
}
