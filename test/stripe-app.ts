import { openStripeServer, type StripeServer } from '../src/pay/testing/stripe-server.ts'
import { startApp } from './app.ts'

export type StripeApp = Awaited<ReturnType<typeof startStripeApp>>

interface StripeAppOptions {
  env?: Record<string, string>
  secretKey?: string
  webhookSecret?: string
}

/** The whole service with a Stripe of our own behind it; both live by the house's clock. */
export async function startStripeApp({ env = {}, ...secrets }: StripeAppOptions = {}) {
  const clock = { now: () => new Date() }
  const stripe = await openStripeServer({ now: () => clock.now(), ...secrets })
  const app = await startApp({
    env: { ...stripeEnv(stripe), ...env },
  })
  clock.now = app.now
  const webhook = `${app.url}/api/stripe/webhook`

  return {
    ...app,
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
      await app.stop()
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
