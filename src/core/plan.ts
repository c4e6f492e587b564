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
  /** Whether it renews automatically. */
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
