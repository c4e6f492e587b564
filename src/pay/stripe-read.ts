import type { Stripe } from 'stripe'
import type { Plan } from '../core/plan.ts'
import type { Purchase } from '../core/purchase.ts'
import type { Notice, OrderHint } from './pay.ts'
import { ifKnown } from './stripe-client.ts'
import { atInvoice, type Glimpse, hintOf } from './stripe-events.ts'
import {
  type Invoice,
  isSale,
  type OrderRecord,
  type SubscriptionRecord,
  type Taking,
} from './stripe-facts.ts'

type Order = Pick<Purchase, 'plan' | 'checkoutRef' | 'subscriptionRef'>

// Eighty years of months. Stripe takes 100 requests a second, of a test account 25.
const MOST_INVOICES = 1_000
const PAGE = 100
const AT_ONCE = 5

/** Reads again all that Stripe remembers of an order; undefined when no checkout of it is known. */
export async function readRecord(client: Stripe, order: Order): Promise<OrderRecord | undefined> {
  const session = await findSession(client, order)
  if (!session) return undefined
  const { payment_intent: intent, subscription } = session
  return {
    session,
    taking: intent ? await takingOf(client, await wholeIntent(client, intent)) : undefined,
    subscription: subscription
      ? await readSubscription(client, idOf(subscription), order.plan)
      : undefined,
  }
}

async function findSession(client: Stripe, { checkoutRef, subscriptionRef }: Order) {
  const { sessions } = client.checkout
  const expand = ['payment_intent.latest_charge']
  if (checkoutRef) return await sessions.retrieve(checkoutRef, { expand })
  if (!subscriptionRef) return undefined
  // We never heard how the checkout is called: the first word of it is about the subscription.
  const { data } = await sessions.list({ subscription: subscriptionRef, limit: 1 })
  return data[0]
}

async function readSubscription(
  client: Stripe,
  id: string,
  plan: Plan,
): Promise<SubscriptionRecord> {
  const subscription = await client.subscriptions.retrieve(id)
  const invoices = await client.invoices
    .list({ subscription: id, limit: PAGE, expand: ['data.payments'] })
    .autoPagingToArray({ limit: MOST_INVOICES })
  const bills: SubscriptionRecord['bills'] = []
  for (let at = 0; at < invoices.length; at += AT_ONCE) {
    const some = invoices.slice(at, at + AT_ONCE)
    bills.push(...(await Promise.all(some.map((invoice) => readBill(client, invoice, plan)))))
  }
  return { ...subscription, bills }
}

async function readBill(client: Stripe, invoice: Stripe.Invoice, plan: Plan) {
  const sold = isSale(plan, invoice)
  // Beside those that count, only what is still open tells something: whether money is under way.
  const payments = sold || invoice.status === 'open' ? (invoice.payments?.data ?? []) : []
  const takings: Taking[] = []
  for (const { payment, status } of payments) {
    if (sold && status !== 'paid') continue
    if (payment.payment_intent) {
      takings.push(await takingOf(client, await wholeIntent(client, payment.payment_intent)))
    } else if (payment.charge) {
      takings.push(await bareTaking(client, payment.charge))
    }
  }
  return { invoice: invoice satisfies Invoice, takings }
}

/** With its charge as a whole. */
async function wholeIntent(client: Stripe, intent: string | Stripe.PaymentIntent) {
  if (typeof intent !== 'string' && typeof intent.latest_charge !== 'string') return intent
  return await client.paymentIntents.retrieve(idOf(intent), { expand: ['latest_charge'] })
}

async function takingOf(client: Stripe, intent: Stripe.PaymentIntent): Promise<Taking> {
  const { id: ref, status, amount_received: received, currency, latest_charge } = intent
  const charge = latest_charge ? await wholeCharge(client, latest_charge) : undefined
  const disputes = charge ? await disputesOf(client, charge) : []
  return { ref, status, received, currency, charge, disputes }
}

/** Of an old kind of payment, which has no intent. */
async function bareTaking(client: Stripe, asked: string | Stripe.Charge): Promise<Taking> {
  const charge = await wholeCharge(client, asked)
  const { id: ref, amount_captured: received, currency } = charge
  const status = charge.paid ? 'succeeded' : 'processing'
  return { ref, status, received, currency, charge, disputes: await disputesOf(client, charge) }
}

async function wholeCharge(client: Stripe, charge: string | Stripe.Charge) {
  return typeof charge === 'string' ? await client.charges.retrieve(charge) : charge
}

async function disputesOf(client: Stripe, { id, disputed }: Stripe.Charge) {
  if (!disputed) return []
  const { data } = await client.disputes.list({ charge: id, limit: PAGE })
  return data.map(({ status }) => status)
}

function idOf(thing: string | { id: string }): string {
  return typeof thing === 'string' ? thing : thing.id
}

/** Asks Stripe whose payment it is where the event does not say. */
export async function noticeOf(
  client: Stripe,
  { id, type, hint, intent }: Glimpse,
): Promise<Notice> {
  return { id, type, about: hint ?? (intent ? await orderOf(client, intent) : undefined) }
}

async function orderOf(client: Stripe, intent: string): Promise<OrderHint | undefined> {
  const payment = await ifKnown(client.paymentIntents.retrieve(intent))
  if (!payment) return undefined
  const orderId = payment.metadata['order_id']
  if (orderId) return hintOf({ orderId })
  // What a subscription takes carries no metadata of ours. Only the invoice knows both it and the payment.
  const { data } = await client.invoicePayments.list({
    payment: { type: 'payment_intent', payment_intent: intent },
    expand: ['data.invoice'],
    limit: 1,
  })
  return hintOf(atInvoice(data[0]?.invoice))
}
