import { randomBytes } from 'node:crypto'
import { scratchShop } from '../../../test/scratch.ts'
import type { LogFacts } from '../../core/log.ts'
import { PLANS } from '../../core/plan.ts'
import { openFake } from '../../pay/fake.ts'
import type { Pay } from '../../pay/pay.ts'
import { openStripe } from '../../pay/stripe.ts'
import { openStripeServer } from '../../pay/testing/stripe-server.ts'
import { type Checkout, checkout, type Wish } from '../shop/checkout.ts'

export type ShopFixture = Awaited<ReturnType<typeof openShopFixture>>

export const SITE = 'https://mail.example'

/** A shop with its real store and writer, paid by the test shop or by a Stripe of our own, and a clock that moves by hand. */
export async function openShopFixture(provider: 'fake' | 'stripe' = 'stripe') {
  const clock = { now: new Date('2027-03-05T10:00:00Z') }
  const now = () => clock.now
  const stripe = await openStripeServer({ now })
  const scratch = await scratchShop()
  const logged: { facts: LogFacts; sentence: string }[] = []
  const note = (facts: LogFacts, sentence: string) => void logged.push({ facts, sentence })
  const pay: Pay =
    provider === 'fake'
      ? openFake()
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
    log: { error: note, warn: note },
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
    order: (wish: Partial<Wish> = {}): Promise<Checkout> =>
      checkout(deps, {
        plan: 'starter',
        email: undefined,
        repeat: undefined,
        baseUrl: SITE,
        ...wish,
      }),
    read: async (orderId: string) => {
      const order = await scratch.store.readPurchase(orderId)
      if (!order) throw new Error(`there is no order ${orderId}`)
      return order
    },
    async stop() {
      await stripe.close()
      await scratch.close()
    },
  }
}
