import type { SettingReader } from '../base/settings/settings.ts'
import { choice, commaSeparated, httpUrl, text } from '../base/settings/values.ts'
import { plansFile, stripePrices } from '../keys/settings.ts'
import type { Plan } from '../shared/plan.ts'

export function shopConfig({ setting, secret, check }: SettingReader) {
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
  const plans = setting(
    'MAYFLY_PLANS_FILE',
    plansFile,
    '',
    'JSON file with your plans; empty: Starter and Business',
  )
  const unknown = Object.keys(stripe.prices).find((id) => !plans.some((plan) => plan.id === id))
  check(unknown === undefined, `MAYFLY_STRIPE_PRICES: unknown plan ${unknown}`)
  if (provider === 'stripe') {
    check(stripe.secretKey !== '', 'MAYFLY_PAYMENTS=stripe requires MAYFLY_STRIPE_SECRET_KEY')
    check(
      stripe.webhookSecrets.length > 0,
      'MAYFLY_PAYMENTS=stripe requires MAYFLY_STRIPE_WEBHOOK_SECRET',
    )
    checkStripePlans(plans, check)
  }
  return {
    plans,
    payments: { provider, stripe },
    mailOut: mailOutConfig({ setting, secret, check }),
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

function mailOutConfig({
  setting,
  secret,
  check,
}: Pick<SettingReader, 'setting' | 'secret' | 'check'>) {
  const url = secret(
    'MAYFLY_MAIL_OUT',
    'mail server for receipts: smtp://user:password@host:587 or smtps://…; empty: no receipts',
  )
  const from = setting('MAYFLY_MAIL_FROM', text, '', 'sender of receipts, such as shop@example.com')
  // Not quoted: it contains a password.
  check(
    url === '' || /^smtps?:$/.test(URL.parse(url)?.protocol ?? ''),
    'MAYFLY_MAIL_OUT: must be smtp://host or smtps://host',
  )
  check(
    url === '' || from.includes('@'),
    'MAYFLY_MAIL_OUT requires MAYFLY_MAIL_FROM, an email address',
  )
  return { url, from }
}
