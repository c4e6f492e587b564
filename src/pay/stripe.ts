import type { KeyMode } from '../core/key.ts'
import type { Pay } from './pay.ts'
import { asking, openCheckout, openClient } from './stripe-client.ts'
import { glimpseOf, missedEvents, verifiedEvent } from './stripe-events.ts'
import { factsOf, UNOPENED } from './stripe-facts.ts'
import { noticeOf, readRecord } from './stripe-read.ts'

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
export function openStripe(options: StripeOptions): Pay {
  const { secretKey, prices, now } = options
  const client = openClient(options)
  const mode: KeyMode = /^[sr]k_test_/.test(secretKey) ? 'test' : 'live'

  return {
    provider: 'stripe',
    mode,
    open: (order) => asking(() => openCheckout({ client, prices }, order)),
    book: {
      async notice(raw, signature) {
        const glimpse = glimpseOf(verifiedEvent(raw, signature, options), mode)
        return await asking(() => noticeOf(client, glimpse))
      },
      async read(order) {
        const record = await asking(() => readRecord(client, order))
        return record ? factsOf(order, record, { mode, now: now() }) : UNOPENED
      },
      async *missed(since) {
        for await (const event of missedEvents(client, { since, now: now() })) {
          const { id, type } = event
          yield { id, type, notice: () => asking(() => noticeOf(client, glimpseOf(event, mode))) }
        }
      },
    },
  }
}

// Limits: live Stripe was never reached. What runs here was tried against testing/stripe-server.ts, which was written
// by the types of Stripe's package and its documents, and in part against the emulate package. What a slow debit pays
// once counts from the day it was ordered: Stripe does not say when it came. Of a subscription it does.
