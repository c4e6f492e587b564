import type { KeyMode } from '../../keys/rules.ts'
import { isTestSecret } from '../rules.ts'
import type { PaymentProvider } from './provider.ts'
import { callStripe, createCheckoutSession, openStripeClient } from './stripe-client.ts'
import { eventsSince, paymentEvent, verifyEvent } from './stripe-events.ts'
import { factsOf, NO_CHECKOUT } from './stripe-facts.ts'
import { fetchRecord } from './stripe-read.ts'

export interface StripeOptions {
  secretKey: string
  /** Two while the secret is being rotated. */
  webhookSecrets: readonly string[]
  /** Empty: api.stripe.com. */
  apiUrl: string
  /** Price ids by plan; other plans get an inline price. */
  prices: Readonly<Record<string, string>>
  now(): Date
}

export function openStripe(options: StripeOptions): PaymentProvider {
  const { secretKey, prices, now } = options
  const client = openStripeClient(options)
  const mode: KeyMode = isTestSecret(secretKey) ? 'test' : 'live'

  return {
    provider: 'stripe',
    mode,
    createCheckout: (order) => callStripe(() => createCheckoutSession({ client, prices }, order)),
    remote: {
      parseEvent: async (raw, signature) =>
        paymentEvent(client, mode, verifyEvent(raw, signature, options)),
      async fetchFacts(order) {
        const record = await callStripe(() => fetchRecord(client, order))
        return record ? factsOf(order, record, { mode, now: now() }) : NO_CHECKOUT
      },
      async *missedEvents(since) {
        for await (const event of eventsSince(client, { since, now: now() })) {
          yield paymentEvent(client, mode, event)
        }
      },
    },
  }
}

// Tested against testing/stripe-server.ts and, in part, the emulate package; never against live Stripe. A delayed one-time
// payment counts from the day of the order, because Stripe does not report when the money arrived.
