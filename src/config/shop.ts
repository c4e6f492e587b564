import type { Plan } from '../core/plan.ts'
import { plansFile, stripePrices } from './files.ts'
import type { SettingReader } from './settings.ts'
import { choice, lifetime, parts, size, text, webAddress, webOrigins } from './values.ts'

/** The pool, what keys may read, and from where. */
export function readerConfig({ setting }: SettingReader) {
  return {
    pool: {
      ttlMs: 1000 * setting('MAYFLY_POOL_TTL', lifetime, '24h', 'how long pool mail is kept'),
      maxBytes: setting(
        'MAYFLY_POOL_BYTES',
        size('0'),
        '1GB',
        'bytes the pool holds in all, as stored',
      ),
    },
    readerPool: setting(
      'MAYFLY_READER_POOL',
      choice('open', 'by-address', 'off'),
      'open',
      'pool mail that keys read: open (all of it), by-address (with its exact `to`), off (none)',
    ),
    readerOrigins: setting(
      'MAYFLY_READER_ORIGINS',
      webOrigins,
      '',
      'web pages elsewhere that may call /emails and /usage: origins, or *; empty: none',
    ),
  }
}

/** What is sold, and how it is paid. */
export function shopConfig({ setting, secret, check }: SettingReader) {
  const provider = setting(
    'MAYFLY_PAYMENTS',
    choice('manual', 'stripe', 'fake'),
    'manual',
    'how plans are sold: manual (you issue keys), stripe, or fake (to try the shop; not in production)',
  )
  const stripe = {
    secretKey: secret(
      'MAYFLY_STRIPE_SECRET_KEY',
      'secret or restricted key of your Stripe account',
    ),
    webhookSecrets: parts(
      secret(
        'MAYFLY_STRIPE_WEBHOOK_SECRET',
        'signing secret of the webhook endpoint; two, with a comma, while you change it',
      ),
    ),
    prices: setting(
      'MAYFLY_STRIPE_PRICES',
      stripePrices,
      '',
      'Stripe prices by plan, such as starter=price_1,business=price_2; others are made inline',
    ),
    apiUrl: setting(
      'MAYFLY_STRIPE_API',
      webAddress,
      '',
      "Stripe's address, if not its own: for tests",
    ),
  }
  const plans = setting(
    'MAYFLY_PLANS_FILE',
    plansFile,
    '',
    'JSON file with the plans you sell; empty: Starter and Business',
  )
  const strange = Object.keys(stripe.prices).find((id) => !plans.some((plan) => plan.id === id))
  check(strange === undefined, `MAYFLY_STRIPE_PRICES: there is no plan ${strange}`)
  if (provider === 'stripe') {
    check(stripe.secretKey !== '', 'MAYFLY_PAYMENTS=stripe needs MAYFLY_STRIPE_SECRET_KEY')
    check(
      stripe.webhookSecrets.length > 0,
      'MAYFLY_PAYMENTS=stripe needs MAYFLY_STRIPE_WEBHOOK_SECRET',
    )
    checkSold(plans, check)
  }
  return {
    plans,
    payments: { provider, stripe },
    mailOut: mailOutConfig({ setting, secret, check }),
  }
}

// Stripe renews every three years at the most.
const LONGEST_RENEWAL_MONTHS = 36

/** Found at the start, and not by the first buyer. */
function checkSold(plans: readonly Plan[], check: SettingReader['check']): void {
  const slow = plans.find(({ renews, months = 0 }) => renews && months > LONGEST_RENEWAL_MONTHS)
  check(
    slow === undefined,
    `MAYFLY_PAYMENTS=stripe renews within ${LONGEST_RENEWAL_MONTHS} months at the latest; the plan ${slow?.id} has ${slow?.months}`,
  )
  const free = plans.find(({ priceCents }) => priceCents === 0)
  check(
    free === undefined,
    `MAYFLY_PAYMENTS=stripe sells nothing for free, such as the plan ${free?.id}`,
  )
}

function mailOutConfig({
  setting,
  secret,
  check,
}: Pick<SettingReader, 'setting' | 'secret' | 'check'>) {
  const url = secret(
    'MAYFLY_MAIL_OUT',
    'mail server that sends receipts: smtp://user:password@host:587 or smtps://…; none: no receipts',
  )
  const from = setting('MAYFLY_MAIL_FROM', text, '', 'sender of receipts, such as shop@example.com')
  // The address holds a password: the fault must not quote it.
  check(
    url === '' || /^smtps?:$/.test(URL.parse(url)?.protocol ?? ''),
    'MAYFLY_MAIL_OUT: write smtp://host or smtps://host',
  )
  check(
    url === '' || from.includes('@'),
    'MAYFLY_MAIL_OUT needs MAYFLY_MAIL_FROM, an e-mail address',
  )
  return { url, from }
}
