import { openFake } from './fake.ts'
import { openManual } from './manual.ts'
import type { Pay } from './pay.ts'
import type { StripeOptions } from './stripe.ts'

interface PayOptions {
  provider: Pay['provider']
  stripe: Omit<StripeOptions, 'now'>
  now(): Date
}

/** The provider that the settings name. */
export async function openPay({ provider, stripe, now }: PayOptions): Promise<Pay> {
  if (provider === 'manual') return openManual()
  if (provider === 'fake') return openFake()
  // Stripe's package is large, and most sites never need it.
  const { openStripe } = await import('./stripe.ts')
  return openStripe({ ...stripe, now })
}
