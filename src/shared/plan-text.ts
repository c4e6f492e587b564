import { minorDigits, termText } from './plan.ts'
import type { Translate } from './translate.ts'

/** `$45` or `45 $`, as the language writes it. */
export function formatPrice(cents: number, currency: string, language: string): string {
  const digits = minorDigits(currency)
  const isWhole = cents % 10 ** digits === 0
  return (cents / 10 ** digits).toLocaleString(language, {
    style: 'currency',
    currency,
    minimumFractionDigits: isWhole ? 0 : digits,
    maximumFractionDigits: digits,
  })
}

interface Term {
  /** Undefined: one payment lasts for ever. */
  months: number | undefined
  renews: boolean
}

/** How long one payment lasts, to be read after the price. */
export function formatTerm({ months, renews }: Term, t: Translate): string {
  if (months === undefined) return t('shop_once')
  const inYears = months % 12 === 0
  const count = inYears ? months / 12 : months
  if (renews) return t(inYears ? 'shop_every_years' : 'shop_every', { count })
  return t(inYears ? 'shop_term_years' : 'shop_term', { count })
}

const COMMON_TERMS: readonly Term[] = [undefined, 1, 12].flatMap((months) => [
  { months, renews: true },
  { months, renews: false },
])

/** The term of an order, which the API gives in English. */
export function translateTerm(english: string, t: Translate): string {
  const known = COMMON_TERMS.find((term) => termText(term) === english)
  return known ? formatTerm(known, t) : english
}

interface Features extends Term {
  requests: number
  /** Undefined: no daily limit. */
  perDay: number | undefined
  /** Domains of its own that a key can have. */
  domains: number
  support: string
}

export function planFeatures(plan: Features, t: Translate): string[] {
  const { requests, perDay, months, renews, domains, support } = plan
  return [
    t('shop_requests', { count: requests }),
    perDay === undefined ? t('shop_no_daily_limit') : t('shop_per_day', { count: perDay }),
    formatValidity(months, t),
    ...(renews ? [t('shop_renews')] : []),
    ...(domains === 0 ? [] : [t('shop_domains', { count: domains })]),
    ...(support === '' ? [] : [support]),
  ]
}

function formatValidity(months: number | undefined, t: Translate): string {
  if (months === undefined) return t('shop_no_expiry')
  if (months % 12 === 0) return t('shop_valid_years', { count: months / 12 })
  return t('shop_valid', { count: months })
}
