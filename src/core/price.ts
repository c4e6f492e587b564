import type { Plan } from './plan.ts'

/** The price of one payment: `5 USD`, `4.50 EUR`, `500 JPY`. */
export function priceText({ priceCents, currency }: Pick<Plan, 'priceCents' | 'currency'>): string {
  const digits = minorDigits(currency)
  const whole = priceCents % 10 ** digits === 0
  return `${(priceCents / 10 ** digits).toFixed(whole ? 0 : digits)} ${currency.toUpperCase()}`
}

/** The term, to follow the price: `once`, `a year`, `for 3 months`. */
export function termText({ months, renews }: Pick<Plan, 'months' | 'renews'>): string {
  if (months === undefined) return 'once'
  if (months === 1 || months === 12)
    return `${renews ? '' : 'for '}a ${months === 1 ? 'month' : 'year'}`
  return `${renews ? 'every' : 'for'} ${months} months`
}

/** Yen and some others have no minor unit. */
function minorDigits(currency: string): number {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency })
  return format.resolvedOptions().maximumFractionDigits ?? 2
}

/** How long one payment lasts: `no expiry`, `1 year`, `3 months`. */
export function validityOf({ months }: Pick<Plan, 'months'>): string {
  if (months === undefined) return 'no expiry'
  const years = months / 12
  return Number.isInteger(years) ? plural(years, 'year') : plural(months, 'month')
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
