import { Problem } from '../../base/problem.ts'
import type { PaymentProvider } from './provider.ts'
import type { StripeOptions } from './stripe.ts'

/** The provider named in the configuration. */
export async function openPaymentProvider(options: {
  provider: PaymentProvider['provider']
  stripe: Omit<StripeOptions, 'now'>
  now(): Date
}): Promise<PaymentProvider> {
  const { provider, stripe, now } = options
  if (provider === 'manual') return manualProvider()
  if (provider === 'fake') return fakeProvider()
  // Loaded on demand: the stripe package is large, and most installations never use it.
  const { openStripe } = await import('./stripe.ts')
  return openStripe({ ...stripe, now })
}

/** A test shop: the payment page is ours, and a click pays. */
export function fakeProvider(): PaymentProvider {
  return {
    provider: 'fake',
    mode: 'test',
    createCheckout: async ({ id, baseUrl }) => ({ ref: `fake_${id}`, url: `${baseUrl}/pay/${id}` }),
    remote: undefined,
  }
}

/** No online payments: the operator issues keys. */
export function manualProvider(): PaymentProvider {
  return {
    provider: 'manual',
    mode: 'live',
    async createCheckout() {
      const message = 'This site does not sell plans online. Ask the operator for a key.'
      throw new Problem('not_found', message)
    },
    remote: undefined,
  }
}
