import { randomBytes } from 'node:crypto'
import type { LogFacts } from '../../../src/base/log/log.ts'
import { PLANS } from '../../../src/shared/plan.ts'
import { type Checkout, type CheckoutRequest, checkout } from '../../../src/shop/checkout.ts'
import { fakeProvider } from '../../../src/shop/pay/open.ts'
import type { PaymentProvider } from '../../../src/shop/pay/provider.ts'
import { openStripe } from '../../../src/shop/pay/stripe.ts'
import { openSqliteTestShop } from '../store/stores.ts'
import { openStripeServer } from './stripe/stripe-server.ts'

export type ShopFixture = Awaited<ReturnType<typeof openShopFixture>>

export const SITE = 'https://mail.example'

/** A shop with a real store and writer, the fake provider or a Stripe test server, and a manual clock. */
export async function openShopFixture(provider: 'fake' | 'stripe' = 'stripe') {
  const clock = { now: new Date('2027-03-05T10:00:00Z') }
  const now = () => clock.now
  const stripe = await openStripeServer({ now })
  const scratch = await openSqliteTestShop()
  const logged: { facts: LogFacts; sentence: string }[] = []
  const record = (facts: LogFacts, sentence: string) => void logged.push({ facts, sentence })
  const pay: PaymentProvider =
    provider === 'fake'
      ? fakeProvider()
      : openStripe({
          secretKey: stripe.secretKey,
          webhookSecrets: [stripe.webhookSecret],
          apiUrl: stripe.url,
          prices: {},
          now,
        })
  const deps = {
    shop: scratch.store,
    pay,
    plans: PLANS,
    now,
    randomBytes: (count: number): Uint8Array => randomBytes(count),
    log: { error: record, warn: record },
  }

  return {
    clock,
    stripe,
    shop: scratch.store,
    deps,
    logged,
    pass: (ms: number) => {
      clock.now = new Date(clock.now.getTime() + ms)
    },
    order: (request: Partial<CheckoutRequest> = {}): Promise<Checkout> =>
      checkout(deps, {
        plan: 'starter',
        email: undefined,
        idempotency: undefined,
        baseUrl: SITE,
        ...request,
      }),
    read: async (orderId: string) => {
      const order = await scratch.store.readOrder(orderId)
      if (!order) throw new Error(`there is no order ${orderId}`)
      return order
    },
    async stop() {
      await stripe.close()
      await scratch.close()
    },
  }
}
