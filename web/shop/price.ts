import { language, t } from '../site/i18n.ts'

/** `45 USD`: the number as the reader writes numbers. Yen and some others have no cents. */
export function priceText({ cents, currency }: { cents: number; currency: string }): string {
  const money = new Intl.NumberFormat(language.value, { style: 'currency', currency })
  const digits = money.resolvedOptions().maximumFractionDigits ?? 2
  const whole = cents % 10 ** digits === 0
  const number = (cents / 10 ** digits).toLocaleString(language.value, {
    minimumFractionDigits: whole ? 0 : digits,
  })
  return `${number} ${currency.toUpperCase()}`
}

interface Term {
  months: number | null
  renews: boolean
}

/** How long one payment lasts, to be read after the price. */
export function termText({ months, renews }: Term): string {
  if (months === null) return t('shop_once')
  const years = months % 12 === 0
  const count = years ? months / 12 : months
  if (renews) return t(years ? 'shop_every_years' : 'shop_every', { count })
  return t(years ? 'shop_term_years' : 'shop_term', { count })
}

/** The same of an order, which tells it in the API's own words: the usual ones are known in every language. */
export function orderTermText(term: string): string {
  const known = KNOWN_TERMS[term]
  return known ? termText(known) : term
}

const KNOWN_TERMS: Record<string, Term> = {
  once: { months: null, renews: false },
  'a month': { months: 1, renews: true },
  'a year': { months: 12, renews: true },
  'for a month': { months: 1, renews: false },
  'for a year': { months: 12, renews: false },
}

export function validityText(months: number | null): string {
  if (months === null) return t('shop_no_expiry')
  if (months % 12 === 0) return t('shop_valid_years', { count: months / 12 })
  return t('shop_valid', { count: months })
}
