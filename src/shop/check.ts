import { type CheckResult, failure, ok, warning } from '../base/check-result.ts'
import { isTestSecret } from './rules.ts'

export interface PaymentOptions {
  provider: PaymentFacts['provider']
  stripe: { secretKey: string; apiUrl: string }
}

interface Facts {
  settings: { payments: PaymentOptions; http: { baseUrl: string } }
}

/** Check of `mayfly doctor`: whether Stripe accepts the key and knows our endpoint. */
export const paymentCheck = {
  name: 'payments',
  async run({ settings: { payments, http } }: Facts) {
    return evaluatePayments({ ...(await inspectPayments(payments)), baseUrl: http.baseUrl })
  },
}

/** The mode of the Stripe key, and the webhook endpoints of the account or why they cannot be listed. */
async function inspectPayments({ provider, stripe }: PaymentOptions) {
  if (provider !== 'stripe') return { provider, isTestMode: false, endpoints: [] }
  const isTestMode = isTestSecret(stripe.secretKey)
  try {
    const { openStripeClient } = await import('./pay/stripe-client.ts')
    const { data } = await openStripeClient(stripe).webhookEndpoints.list({ limit: 100 })
    const endpoints = data.map(({ url, status }) => ({ url, enabled: status === 'enabled' }))
    return { provider, isTestMode, endpoints }
  } catch (error) {
    // The message may quote the key.
    const type = error instanceof Error && 'type' in error ? String(error.type) : 'no connection'
    return { provider, isTestMode, endpoints: { error: type } }
  }
}

interface PaymentFacts {
  provider: 'manual' | 'stripe' | 'fake'
  /** The Stripe key is one for tests. */
  isTestMode: boolean
  baseUrl: string
  /** The webhook endpoints of the Stripe account, or why they could not be listed. */
  endpoints: readonly { url: string; enabled: boolean }[] | { error: string }
}

export function evaluatePayments(facts: PaymentFacts): CheckResult {
  const { provider, isTestMode, baseUrl, endpoints } = facts
  if (provider === 'manual') return ok('manual: you issue the keys')
  if (provider === 'fake') {
    return warning('fake: anyone can get a key for free', 'Set MAYFLY_PAYMENTS=manual or stripe')
  }
  const url = `${baseUrl}/api/stripe/webhook`
  if ('error' in endpoints) {
    if (endpoints.error === 'StripeAuthenticationError')
      return failure('Stripe rejects the key', 'Set MAYFLY_STRIPE_SECRET_KEY to a valid key')
    const fix = `Check the key, and that there is an endpoint for ${url}`
    return warning(`Stripe: the webhook endpoints cannot be listed (${endpoints.error})`, fix)
  }
  const create = `Create or enable ${url} in the Stripe dashboard (docs/stripe.md), and set MAYFLY_STRIPE_WEBHOOK_SECRET`
  const hasOurs = endpoints.some((endpoint) => endpoint.url === url && endpoint.enabled)
  if (!hasOurs) return failure('Stripe has no enabled webhook endpoint for this service', create)
  const live = 'For real payments set MAYFLY_STRIPE_SECRET_KEY to the live key'
  if (isTestMode) return warning('Stripe in test mode: payments are not real', live)
  return ok(`Stripe, webhook ${url}`)
}
