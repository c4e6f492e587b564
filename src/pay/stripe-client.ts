import { Stripe } from 'stripe'
import type { Plan } from '../core/plan.ts'
import { Problem } from '../core/problem.ts'
import type { CheckoutOrder } from './provider.ts'

// Twice this is what a buyer may wait: less than the minute after which proxies give up.
const TIMEOUT_MS = 20_000
const RETRIES = 1
const RETRY_AFTER_SECONDS = 30

export function openStripeClient({
  secretKey,
  apiUrl,
}: {
  secretKey: string
  apiUrl: string
}): Stripe {
  return new Stripe(secretKey, {
    ...endpointOf(apiUrl),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  })
}

function endpointOf(apiUrl: string): Stripe.StripeConfig {
  if (apiUrl === '') return {}
  const { protocol, hostname, port } = new URL(apiUrl)
  const secure = protocol === 'https:'
  return {
    protocol: secure ? 'https' : 'http',
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (secure ? 443 : 80),
  }
}

/** Runs what asks Stripe. Who waits hears only that it may work later; why it did not is for the operator's log. */
export async function callStripe<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask()
  } catch (error) {
    throw error instanceof Stripe.errors.StripeError ? toProblem(error) : error
  }
}

/** What Stripe answers for an id, or undefined when it knows none such. */
export async function ifFound<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && error.code === 'resource_missing') {
      return undefined
    }
    throw error
  }
}

function toProblem(error: Stripe.errors.StripeError): Problem {
  if (error.code === 'email_invalid') {
    return new Problem('invalid_parameter', 'email: Stripe does not take this e-mail address.')
  }
  const problem = new Problem(
    'payment_unavailable',
    'The payment provider does not answer as it should. Try again in half a minute.',
    RETRY_AFTER_SECONDS,
  )
  return Object.assign(problem, { cause: new Error(reasonOf(error)) })
}

/** In our words: Stripe's error also holds headers and bodies, and its text may quote a key. */
function reasonOf({ type, statusCode, code, requestId, message }: Stripe.errors.StripeError) {
  const facts = [type, statusCode, code, requestId].filter((fact) => fact !== undefined).join(' ')
  return `Stripe: ${facts}: ${message.replace(/(?:[sr]k|whsec)_[\w*]+/g, '(hidden)')}`
}

interface CheckoutDeps {
  client: Stripe
  prices: Readonly<Record<string, string>>
}

type CreateParams = Stripe.Checkout.SessionCreateParams
type LineItem = NonNullable<CreateParams['line_items']>[number]

/** A Checkout Session for the order. The key follows from the order, so that asking again answers the same session. */
export async function createCheckoutSession(
  { client, prices }: CheckoutDeps,
  order: CheckoutOrder,
): Promise<{ ref: string; url: string }> {
  const { plan } = order
  const configured = Object.hasOwn(prices, plan.id) ? prices[plan.id] : undefined
  const session = await client.checkout.sessions.create(sessionParams(order, configured), {
    idempotencyKey: `mayfly-checkout-${order.id}`,
  })
  checkPrice(session, plan)
  if (!session.url) throw new Error(`Stripe opened ${session.id} without a page to pay on`)
  return { ref: session.id, url: session.url }
}

function sessionParams({ id, plan, email, baseUrl }: CheckoutOrder, price: string | undefined) {
  const metadata = { order_id: id }
  return {
    mode: checkoutMode(plan),
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
export function checkoutMode({ renews }: Pick<Plan, 'renews'>): 'payment' | 'subscription' {
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
