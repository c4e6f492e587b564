import type { SettingReader } from '../base/settings/settings.ts'
import { choice, commaSeparated, httpUrl } from '../base/settings/values.ts'
import type { Plan } from '../shared/plan.ts'
import { isTestSecret } from './rules.ts'

interface Others {
  plans: readonly Plan[]
  baseUrl: string
  isProduction: boolean
}

export function shopConfig(
  { setting, secret, check }: SettingReader,
  { plans, baseUrl, isProduction }: Others,
) {
  const provider = setting(
    'MAYFLY_PAYMENTS',
    choice('manual', 'stripe', 'fake'),
    'manual',
    'payment provider: manual (you issue keys), stripe, or fake (test shop; not in production)',
  )
  const stripe = {
    secretKey: secret(
      'MAYFLY_STRIPE_SECRET_KEY',
      'secret or restricted key of your Stripe account',
    ),
    webhookSecrets: commaSeparated(
      secret(
        'MAYFLY_STRIPE_WEBHOOK_SECRET',
        'signing secret of the webhook endpoint; two, separated by a comma, while you rotate it',
      ),
    ),
    prices: setting(
      'MAYFLY_STRIPE_PRICES',
      stripePrices,
      '',
      'Stripe price per plan, such as starter=price_1,business=price_2; created inline for other plans',
    ),
    apiUrl: setting('MAYFLY_STRIPE_API', httpUrl, '', 'base URL of the Stripe API, for tests'),
  }
  const unknown = Object.keys(stripe.prices).find((id) => !plans.some((plan) => plan.id === id))
  check(unknown === undefined, `MAYFLY_STRIPE_PRICES: unknown plan ${unknown}`)
  check(
    provider !== 'fake' || !isProduction,
    'MAYFLY_PAYMENTS=fake gives keys away: not allowed with NODE_ENV=production',
  )
  if (provider === 'stripe') {
    check(stripe.secretKey !== '', 'MAYFLY_PAYMENTS=stripe requires MAYFLY_STRIPE_SECRET_KEY')
    check(
      stripe.webhookSecrets.length > 0,
      'MAYFLY_PAYMENTS=stripe requires MAYFLY_STRIPE_WEBHOOK_SECRET',
    )
    check(
      baseUrl !== '',
      'MAYFLY_PAYMENTS=stripe requires MAYFLY_BASE_URL: buyers are sent back to it',
    )
    checkStripePlans(plans, check)
  }
  return {
    payments: { provider, stripe },
    shopOpen: provider !== 'manual' && plans.length > 0,
    testKeys: provider === 'fake' || (provider === 'stripe' && isTestSecret(stripe.secretKey)),
  }
}

// Stripe's maximum is three years.
const MAX_RENEWAL_MONTHS = 36

/** Reported at start rather than to the first buyer. */
function checkStripePlans(plans: readonly Plan[], check: SettingReader['check']): void {
  const tooLong = plans.find(({ renews, months = 0 }) => renews && months > MAX_RENEWAL_MONTHS)
  check(
    tooLong === undefined,
    `MAYFLY_PAYMENTS=stripe renews after at most ${MAX_RENEWAL_MONTHS} months; plan ${tooLong?.id} has ${tooLong?.months}`,
  )
  const free = plans.find(({ priceCents }) => priceCents === 0)
  check(free === undefined, `MAYFLY_PAYMENTS=stripe cannot sell plan ${free?.id} for free`)
}

/** `starter=price_1,business=price_2` */
export function stripePrices(given: string): Readonly<Record<string, string>> {
  const pairs = given === '' ? [] : given.split(',').map((part) => part.trim().split('='))
  const bad = pairs.find(([plan = '', price = '', ...rest]) => !plan || !price || rest.length > 0)
  if (bad) throw new Error('use plan=price, separated by commas')
  return Object.fromEntries(pairs)
}
