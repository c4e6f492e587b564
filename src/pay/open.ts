import { Problem } from '../core/problem.ts'
import type { PaymentProvider } from './provider.ts'
import type { StripeOptions } from './stripe.ts'

interface ProviderOptions {
  provider: PaymentProvider['provider']
  stripe: Omit<StripeOptions, 'now'>
  now(): Date
}

/** The provider that the settings name. */
export async function openPaymentProvider({
  provider,
  stripe,
  now,
}: ProviderOptions): Promise<PaymentProvider> {
  if (provider === 'manual') return manualProvider()
  if (provider === 'fake') return fakeProvider()
  // Stripe's package is large, and most sites never need it.
  const { openStripe } = await import('./stripe.ts')
  return openStripe({ ...stripe, now })
}

/** A shop to try: its pay page is ours, and a click pays. */
export function fakeProvider(): PaymentProvider {
  return {
    provider: 'fake',
    mode: 'test',
    open: async ({ id, baseUrl }) => ({ ref: `fake_${id}`, url: `${baseUrl}/pay/${id}` }),
    book: undefined,
  }
}

/** Keys are issued by the operator, who is paid in ways of their own. */
export function manualProvider(): PaymentProvider {
  return {
    provider: 'manual',
    mode: 'live',
    async open() {
      throw new Problem(
        'not_found',
        'This site does not sell plans online. Ask the operator for a key.',
      )
    },
    book: undefined,
  }
}
