import { utcDay } from '../core/key.ts'

const DAY_MS = 86_400_000
// A provider keeps a checkout for a day, retries an event for three days and lists it for thirty.
const ORDER_DAYS = 90
const EVENT_DAYS = 90
// Two years, to compare one with the previous one, and a margin.
const USAGE_DAYS = 800

/** Of each table, in one step of the sweep: few enough not to delay requests. */
export const ROWS_PER_STEP = 200

/** Rows older than this are deleted. Keys, and orders that were ever paid, are kept forever. */
export function shopCutoffs(now: Date): { orders: number; events: number; usageDay: number } {
  const before = (days: number) => now.getTime() - days * DAY_MS
  return {
    orders: before(ORDER_DAYS),
    events: before(EVENT_DAYS),
    usageDay: utcDay(now) - USAGE_DAYS,
  }
}
