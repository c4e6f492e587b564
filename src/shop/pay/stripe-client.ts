import { Stripe } from 'stripe'
import { Problem } from '../../base/problem.ts'
import type { Plan } from '../../shared/plan.ts'
import type { CheckoutOrder } from './provider.ts'

// With one retry a buyer waits at most 40 s, less than the usual proxy timeout of a minute.
const TIMEOUT_MS = 20_000
const RETRIES = 1
const RETRY_AFTER_SECONDS = 30

export function openStripeClient(options: { secretKey: string; apiUrl: string }): Stripe {
  const { secretKey, apiUrl } = options
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

/** Turns errors of Stripe into a Problem. The client learns only that it may retry; the cause goes to the log. */
export async function callStripe<T>(request: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    throw error instanceof Stripe.errors.StripeError ? toProblem(error) : error
  }
}

/** The result, or undefined if Stripe does not know the id. */
export async function ifFound<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && error.code === 'resource_missing') {
      return undefined
    }
    throw error
  }
}

function toProblem(error: Stripe.errors.StripeError): Problem {
  if (error.code === 'email_invalid') {
    return new Problem('invalid_parameter', 'email: not accepted by Stripe.')
  }
  const problem = new Problem(
    'payment_unavailable',
    'The payment provider is unavailable. Try again in 30 seconds.',
    RETRY_AFTER_SECONDS,
  )
  return Object.assign(problem, { cause: new Error(reasonOf(error)) })
}

/** Only these fields: the error also holds headers and bodies, and its message may quote a key. */
function reasonOf({ type, statusCode, code, requestId, message }: Stripe.errors.StripeError) {
  const facts = [type, statusCode, code, requestId].filter((fact) => fact !== undefined).join(' ')
  return `Stripe: ${facts}: ${message.replace(/(?:[sr]k|whsec)_[\w*]+/g, '(hidden)')}`
}

type CreateParams = Stripe.Checkout.SessionCreateParams
type LineItem = NonNullable<CreateParams['line_items']>[number]

/** The idempotency key is derived from the order, so a repeated call returns the same session. */
export async function createCheckoutSession(
  { client, prices }: { client: Stripe; prices: Readonly<Record<string, string>> },
  order: CheckoutOrder,
): Promise<{ ref: string; url: string }> {
  const { plan } = order
  const configured = Object.hasOwn(prices, plan.id) ? prices[plan.id] : undefined
  const session = await client.checkout.sessions.create(sessionParams(order, configured), {
    idempotencyKey: `mayfly-checkout-${order.id}`,
  })
  checkPrice(session, plan)
  if (!session.url) throw new Error(`Stripe returned ${session.id} without a URL`)
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
  if (months === undefined) throw new Error(`plan ${id} renews but has no duration`)
  return months % 12 === 0
    ? { interval: 'year' as const, interval_count: months / 12 }
    : { interval: 'month' as const, interval_count: months }
}

/** A price configured at Stripe may differ from the plan's. Refuse the sale: such a payment would not count. */
function checkPrice({ amount_total, currency }: Stripe.Checkout.Session, plan: Plan): void {
  if (amount_total === null || amount_total === undefined) return
  if (amount_total === plan.priceCents && currency === plan.currency) return
  throw new Error(
    `Stripe charges ${amount_total} ${currency} for plan ${plan.id}, but its price is ${plan.priceCents} ${plan.currency}: check MAYFLY_STRIPE_PRICES`,
  )
}
