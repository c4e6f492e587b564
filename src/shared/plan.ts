/** A plan for sale. A key keeps the quota it was sold with: changing a plan does not change existing keys. */
export interface Plan {
  id: string
  name: string
  /** Price of one payment in the smallest unit of the currency. */
  priceCents: number
  /** ISO 4217 code in lower case. */
  currency: string
  /** Requests per payment. */
  requests: number
  /** Requests per UTC day; undefined: no daily limit. */
  perDay: number | undefined
  /** Calendar months per payment; undefined: no expiry. */
  months: number | undefined
  /** Domains of its own that a key can have. */
  domains: number
  renews: boolean
  support: string
}

export const PLANS: readonly Plan[] = [
  {
    id: 'starter',
    name: 'Starter',
    priceCents: 500,
    currency: 'usd',
    requests: 1_000,
    perDay: undefined,
    months: undefined,
    domains: 1,
    renews: false,
    support: 'Standard e-mail support',
  },
  {
    id: 'business',
    name: 'Business',
    priceCents: 4_500,
    currency: 'usd',
    requests: 100_000,
    perDay: 1_000,
    months: 12,
    domains: 5,
    renews: true,
    support: '24/7 priority support',
  },
]

/** The same day and time a number of months later; a day that the month does not have becomes its last day. */
export function addMonths(from: Date, months: number): Date {
  const to = new Date(from)
  to.setUTCDate(1)
  to.setUTCMonth(to.getUTCMonth() + months)
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), lastDay))
  return to
}

/** When a payment of this time expires; undefined: never. */
export function planEnd(plan: { months: number | undefined }, paidAt: Date): Date | undefined {
  return plan.months === undefined ? undefined : addMonths(paidAt, plan.months)
}

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
export function minorDigits(currency: string): number {
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
