import { openStripeServer, type StripeServer } from '../src/pay/testing/stripe-server.ts'
import { openHouse } from './app.ts'

export type StripeHouse = Awaited<ReturnType<typeof openStripeHouse>>

interface StripeHouseOptions {
  env?: Record<string, string>
  secretKey?: string
  webhookSecret?: string
}

/** The whole service with a Stripe of our own behind it; both live by the house's clock. */
export async function openStripeHouse({ env = {}, ...secrets }: StripeHouseOptions = {}) {
  const clock = { now: () => new Date() }
  const stripe = await openStripeServer({ now: () => clock.now(), ...secrets })
  const house = await openHouse({
    env: { ...stripeEnv(stripe), ...env },
  })
  clock.now = house.now
  const webhook = `${house.url}/api/stripe/webhook`

  return {
    ...house,
    stripe,
    webhook,
    /** What Stripe has to tell since the last time, told in the order it happened. */
    async tell(): Promise<void> {
      for (const event of stripe.take()) {
        const status = await stripe.deliver(webhook, event)
        if (status !== 200) throw new Error(`${event.type} was answered ${status}`)
      }
    },
    async stop() {
      await house.stop()
      await stripe.close()
    },
  }
}

/** The settings of a service that sells by this Stripe. */
export function stripeEnv({ url, secretKey, webhookSecret }: StripeServer): Record<string, string> {
  return {
    MAYFLY_PAYMENTS: 'stripe',
    MAYFLY_STRIPE_API: url,
    MAYFLY_STRIPE_SECRET_KEY: secretKey,
    MAYFLY_STRIPE_WEBHOOK_SECRET: webhookSecret,
    MAYFLY_BASE_URL: 'https://mail.example',
  }
}
