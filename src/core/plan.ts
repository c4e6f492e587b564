/** What can be bought. A key keeps the figures it was sold with: changing a plan changes nobody's key. */
export interface Plan {
  id: string
  name: string
  /** Of one payment, in the smallest unit of the currency. */
  priceCents: number
  /** As ISO 4217 has it, in lower case. */
  currency: string
  /** Requests that one payment buys. */
  requests: number
  /** Requests a UTC day; undefined: no daily limit. */
  perDay: number | undefined
  /** Calendar months that one payment buys; undefined: no end. */
  months: number | undefined
  /** Whether it is paid again by itself when it ends. */
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

/** The same day and time so many months on; a day that the month does not have becomes its last. */
export function addMonths(from: Date, months: number): Date {
  const to = new Date(from)
  to.setUTCDate(1)
  to.setUTCMonth(to.getUTCMonth() + months)
  const lastDay = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() + 1, 0)).getUTCDate()
  to.setUTCDate(Math.min(from.getUTCDate(), lastDay))
  return to
}

/** When a payment of that moment runs out; undefined: never. */
export function planEnd(plan: { months: number | undefined }, paidAt: Date): Date | undefined {
  return plan.months === undefined ? undefined : addMonths(paidAt, plan.months)
}
