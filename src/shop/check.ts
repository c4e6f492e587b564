import { type CheckResult, failure, ok, warning } from '../base/check-result.ts'
import { isTestSecret } from './rules.ts'

export interface PaymentOptions {
  provider: PaymentFacts['provider']
  stripe: { secretKey: string; apiUrl: string; webhookSecrets: readonly string[] }
}

interface Facts {
  settings: { payments: PaymentOptions; http: { baseUrl: string } }
}

/** Check of `mayfly doctor`: whether Stripe accepts the key and knows our endpoint. */
export const paymentCheck = {
  name: 'payments',
  async run({ settings: { payments, http } }: Facts) {
    const { webhookSecrets } = payments.stripe
    const areSecretsValid = webhookSecrets.every((secret) => secret.startsWith('whsec_'))
    const facts = { ...(await inspectPayments(payments)), areSecretsValid }
    return evaluatePayments({ ...facts, baseUrl: http.baseUrl })
  },
}

/** The mode of the Stripe key, and the webhook endpoints of the account or why they cannot be listed. */
async function inspectPayments({ provider, stripe }: PaymentOptions) {
  if (provider !== 'stripe') return { provider, isTestMode: false, endpoints: [] }
  const isTestMode = isTestSecret(stripe.secretKey)
  try {
    const { openStripeClient } = await import('./pay/stripe-client.ts')
    const { data } = await openStripeClient(stripe).webhookEndpoints.list({ limit: 100 })
    const { EVENT_TYPES } = await import('./pay/stripe-events.ts')
    const endpoints = data.map(({ url, status, enabled_events: sent = ['*'] }) => {
      const missing = sent.includes('*') ? [] : EVENT_TYPES.filter((type) => !sent.includes(type))
      return { url, enabled: status === 'enabled', missing }
    })
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
  endpoints: readonly StripeEndpoint[] | { error: string }
  /** Whether each secret looks like one of a webhook endpoint. */
  areSecretsValid: boolean
}

interface StripeEndpoint {
  url: string
  enabled: boolean
  /** Types of events that we need and Stripe does not send there. */
  missing: readonly string[]
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
  const ours = endpoints.find((endpoint) => endpoint.url === url && endpoint.enabled)
  if (!ours) return failure('Stripe has no enabled webhook endpoint for this service', create)
  const missing = ours.missing.join(', ')
  const add = `Add these events to the endpoint ${url} in the Stripe dashboard (docs/stripe.md): ${missing}`
  if (missing !== '') return warning(`Stripe does not send ${missing}`, add)
  const secret = `Set MAYFLY_STRIPE_WEBHOOK_SECRET to the signing secret of the endpoint ${url}, which starts with whsec_`
  if (!facts.areSecretsValid)
    return failure(
      'MAYFLY_STRIPE_WEBHOOK_SECRET is not a signing secret: no event is accepted',
      secret,
    )
  const live = 'For real payments set MAYFLY_STRIPE_SECRET_KEY to the live key'
  if (isTestMode) return warning('Stripe in test mode: payments are not real', live)
  return ok(`Stripe, webhook ${url}`)
}
