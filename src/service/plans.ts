import type { Plan } from '../core/plan.ts'

/** How long one payment lasts, in words for people. */
export function validityOf({ months }: Pick<Plan, 'months'>): string {
  if (months === undefined) return 'no expiry'
  const years = months / 12
  return Number.isInteger(years) ? plural(years, 'year') : plural(months, 'month')
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
