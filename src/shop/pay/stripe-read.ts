import type { Stripe } from 'stripe'
import type { Plan } from '../../shared/plan.ts'
import type { Order } from '../rules.ts'
import {
  type Invoice,
  isPaidPlanInvoice,
  type OrderRecord,
  type PaymentAttempt,
  type SubscriptionRecord,
} from './stripe-facts.ts'

type SoldOrder = Pick<Order, 'plan' | 'checkoutRef' | 'subscriptionRef'>

// 80 years of monthly invoices. Stripe's rate limit is 100 requests a second, 25 in test mode.
const MAX_INVOICES = 1_000
const PAGE = 100
const CONCURRENCY = 5

/** Undefined if no checkout of the order is known. */
export async function fetchRecord(
  client: Stripe,
  order: SoldOrder,
): Promise<OrderRecord | undefined> {
  const session = await findSession(client, order)
  if (!session) return undefined
  const { payment_intent: intent, subscription } = session
  return {
    session,
    attempt: intent ? await attemptOf(client, await expandedIntent(client, intent)) : undefined,
    subscription: subscription
      ? await fetchSubscription(client, idOf(subscription), order.plan)
      : undefined,
  }
}

async function findSession(client: Stripe, { checkoutRef, subscriptionRef }: SoldOrder) {
  const { sessions } = client.checkout
  const expand = ['payment_intent.latest_charge']
  if (checkoutRef) return await sessions.retrieve(checkoutRef, { expand })
  if (!subscriptionRef) return undefined
  // We have no id of the checkout if the first event was about the subscription.
  const { data } = await sessions.list({ subscription: subscriptionRef, limit: 1 })
  return data[0]
}

async function fetchSubscription(
  client: Stripe,
  id: string,
  plan: Plan,
): Promise<SubscriptionRecord> {
  const subscription = await client.subscriptions.retrieve(id)
  const invoices = await client.invoices
    .list({ subscription: id, limit: PAGE, expand: ['data.payments'] })
    .autoPagingToArray({ limit: MAX_INVOICES })
  const records: SubscriptionRecord['invoices'] = []
  for (let at = 0; at < invoices.length; at += CONCURRENCY) {
    const some = invoices.slice(at, at + CONCURRENCY)
    records.push(...(await Promise.all(some.map((invoice) => fetchInvoice(client, invoice, plan)))))
  }
  return { ...subscription, invoices: records }
}

async function fetchInvoice(client: Stripe, invoice: Stripe.Invoice, plan: Plan) {
  const isPaid = isPaidPlanInvoice(plan, invoice)
  // Only open ones of the unpaid invoices matter: a payment may be in progress.
  const payments = isPaid || invoice.status === 'open' ? (invoice.payments?.data ?? []) : []
  const attempts: PaymentAttempt[] = []
  for (const { payment, status } of payments) {
    if (isPaid && status !== 'paid') continue
    if (payment.payment_intent) {
      attempts.push(await attemptOf(client, await expandedIntent(client, payment.payment_intent)))
    } else if (payment.charge) {
      attempts.push(await chargeAttempt(client, payment.charge))
    }
  }
  return { invoice: invoice satisfies Invoice, attempts }
}

async function expandedIntent(client: Stripe, intent: string | Stripe.PaymentIntent) {
  if (typeof intent !== 'string' && typeof intent.latest_charge !== 'string') return intent
  return await client.paymentIntents.retrieve(idOf(intent), { expand: ['latest_charge'] })
}

async function attemptOf(client: Stripe, intent: Stripe.PaymentIntent): Promise<PaymentAttempt> {
  const { id: ref, status, amount_received: received, currency, latest_charge } = intent
  const charge = latest_charge ? await expandedCharge(client, latest_charge) : undefined
  const disputes = charge ? await fetchDisputes(client, charge) : []
  return { ref, status, received, currency, charge, disputes }
}

/** Old payments have a charge but no intent. */
async function chargeAttempt(
  client: Stripe,
  asked: string | Stripe.Charge,
): Promise<PaymentAttempt> {
  const charge = await expandedCharge(client, asked)
  const { id: ref, amount_captured: received, currency } = charge
  const status = charge.paid ? 'succeeded' : 'processing'
  return { ref, status, received, currency, charge, disputes: await fetchDisputes(client, charge) }
}

async function expandedCharge(client: Stripe, charge: string | Stripe.Charge) {
  return typeof charge === 'string' ? await client.charges.retrieve(charge) : charge
}

async function fetchDisputes(client: Stripe, { id, disputed }: Stripe.Charge) {
  if (!disputed) return []
  const { data } = await client.disputes.list({ charge: id, limit: PAGE })
  return data.map(({ status }) => status)
}

function idOf(thing: string | { id: string }): string {
  return typeof thing === 'string' ? thing : thing.id
}
