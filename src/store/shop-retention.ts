import { utcDay } from '../core/key.ts'

const DAY_MS = 86_400_000
// A provider remembers a checkout for a day, sends a message again for three and lists it for thirty.
const ORDER_DAYS = 90
const EVENT_DAYS = 90
// Two years, to compare one with the one before, and a little.
const USAGE_DAYS = 800

/** Of each kind, in one step of the sweep: small enough that a request waiting behind it hardly notices. */
export const ROWS_PER_STEP = 200

/** Before when the shop need not remember things. A key, and an order that was ever paid, stay for good. */
export function shopCutoffs(now: Date): { orders: number; events: number; usageDay: number } {
  const before = (days: number) => now.getTime() - days * DAY_MS
  return {
    orders: before(ORDER_DAYS),
    events: before(EVENT_DAYS),
    usageDay: utcDay(now) - USAGE_DAYS,
  }
}
