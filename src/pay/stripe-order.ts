import type { Stripe } from 'stripe'
import type { Notice, OrderHint } from './pay.ts'
import { ifKnown } from './stripe-client.ts'
import { atInvoice, type Glimpse, hintOf } from './stripe-events.ts'

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
