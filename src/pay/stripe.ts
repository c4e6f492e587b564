import type { KeyMode } from '../core/key.ts'
import type { PaymentProvider } from './provider.ts'
import { callStripe, createCheckoutSession, openStripeClient } from './stripe-client.ts'
import { eventRefs, eventsSince, verifyEvent } from './stripe-events.ts'
import { factsOf, NO_CHECKOUT } from './stripe-facts.ts'
import { fetchRecord, toPaymentEvent } from './stripe-read.ts'

export interface StripeOptions {
  secretKey: string
  /** Two while they are changed. */
  webhookSecrets: readonly string[]
  /** Empty: Stripe's own. */
  apiUrl: string
  /** Stripe's price by plan; a plan that is not here gets an inline price. */
  prices: Readonly<Record<string, string>>
  now(): Date
}

/** Stripe Checkout, its webhooks and its memory. */
export function openStripe(options: StripeOptions): PaymentProvider {
  const { secretKey, prices, now } = options
  const client = openStripeClient(options)
  const mode: KeyMode = /^[sr]k_test_/.test(secretKey) ? 'test' : 'live'

  return {
    provider: 'stripe',
    mode,
    open: (order) => callStripe(() => createCheckoutSession({ client, prices }, order)),
    book: {
      async parseEvent(raw, signature) {
        const glimpse = eventRefs(verifyEvent(raw, signature, options), mode)
        return await callStripe(() => toPaymentEvent(client, glimpse))
      },
      async fetchFacts(order) {
        const record = await callStripe(() => fetchRecord(client, order))
        return record ? factsOf(order, record, { mode, now: now() }) : NO_CHECKOUT
      },
      async *missedEvents(since) {
        for await (const event of eventsSince(client, { since, now: now() })) {
          const { id, type } = event
          yield {
            id,
            type,
            resolve: () => callStripe(() => toPaymentEvent(client, eventRefs(event, mode))),
          }
        }
      },
    },
  }
}

// Limits: live Stripe was never reached. What runs here was tried against testing/stripe-server.ts, which was written
// by the types of Stripe's package and its documents, and in part against the emulate package. What a slow debit pays
// once counts from the day it was ordered: Stripe does not say when it came. Of a subscription it does.
