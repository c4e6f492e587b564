import type { Stripe } from 'stripe'
import type { Plan } from '../core/plan.ts'
import type { CheckoutOrder } from './pay.ts'

interface CheckoutNeeds {
  client: Stripe
  prices: Readonly<Record<string, string>>
}

type CreateParams = Stripe.Checkout.SessionCreateParams
type LineItem = NonNullable<CreateParams['line_items']>[number]

/** A Checkout Session for the order. The key follows from the order, so that asking again answers the same session. */
export async function openCheckout(
  { client, prices }: CheckoutNeeds,
  order: CheckoutOrder,
): Promise<{ ref: string; url: string }> {
  const { plan } = order
  const configured = Object.hasOwn(prices, plan.id) ? prices[plan.id] : undefined
  const session = await client.checkout.sessions.create(wishOf(order, configured), {
    idempotencyKey: `mayfly-checkout-${order.id}`,
  })
  checkPrice(session, plan)
  if (!session.url) throw new Error(`Stripe opened ${session.id} without a page to pay on`)
  return { ref: session.id, url: session.url }
}

function wishOf({ id, plan, email, baseUrl }: CheckoutOrder, price: string | undefined) {
  const metadata = { order_id: id }
  return {
    mode: modeOf(plan),
    line_items: [{ quantity: 1, ...(price ? { price } : { price_data: inlinePrice(plan) }) }],
    client_reference_id: id,
    metadata,
    ...(plan.renews ? { subscription_data: { metadata } } : { payment_intent_data: { metadata } }),
    ...(email !== undefined && { customer_email: email }),
    success_url: `${baseUrl}/orders/${id}`,
    cancel_url: `${baseUrl}/pricing`,
  } satisfies CreateParams
}

/** How Stripe calls a checkout of this plan. */
export function modeOf({ renews }: Pick<Plan, 'renews'>): 'payment' | 'subscription' {
  return renews ? 'subscription' : 'payment'
}

function inlinePrice(plan: Plan): NonNullable<LineItem['price_data']> {
  return {
    currency: plan.currency,
    unit_amount: plan.priceCents,
    product_data: { name: plan.name },
    ...(plan.renews && { recurring: recurring(plan) }),
  }
}

function recurring({ id, months }: Plan) {
  if (months === undefined) throw new Error(`the plan ${id} renews, but has no end to renew at`)
  return months % 12 === 0
    ? { interval: 'year' as const, interval_count: months / 12 }
    : { interval: 'month' as const, interval_count: months }
}

/** A price of the dashboard may be another than the plan's. Better no sale than money that opens nothing. */
function checkPrice({ amount_total, currency }: Stripe.Checkout.Session, plan: Plan): void {
  if (amount_total === null || amount_total === undefined) return
  if (amount_total === plan.priceCents && currency === plan.currency) return
  throw new Error(
    `Stripe would take ${amount_total} ${currency} for the plan ${plan.id}, which costs ${plan.priceCents} ${plan.currency}: see MAYFLY_STRIPE_PRICES`,
  )
}
