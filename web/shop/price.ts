import { language, say } from '../site/words.ts'

/** `45 USD`: the number as the reader writes numbers. Yen and some others have no cents. */
export function priceWords({ cents, currency }: { cents: number; currency: string }): string {
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
export function termWords({ months, renews }: Term): string {
  if (months === null) return say('shop_once')
  const years = months % 12 === 0
  const count = years ? months / 12 : months
  if (renews) return say(years ? 'shop_every_years' : 'shop_every', { count })
  return say(years ? 'shop_term_years' : 'shop_term', { count })
}

/** The same of an order, which tells it in the API's own words: the usual ones are known in every language. */
export function soldTerm(term: string): string {
  const known = USUAL[term]
  return known ? termWords(known) : term
}

const USUAL: Record<string, Term> = {
  once: { months: null, renews: false },
  'a month': { months: 1, renews: true },
  'a year': { months: 12, renews: true },
  'for a month': { months: 1, renews: false },
  'for a year': { months: 12, renews: false },
}

export function validityWords(months: number | null): string {
  if (months === null) return say('shop_no_expiry')
  if (months % 12 === 0) return say('shop_valid_years', { count: months / 12 })
  return say('shop_valid', { count: months })
}
