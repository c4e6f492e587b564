import { type Operation, query } from '../../base/operation.ts'
import { utcDay } from '../../keys/rules.ts'

const DAY_MS = 86_400_000
// A provider keeps a checkout for a day, retries an event for three days and lists it for thirty.
const ORDER_DAYS = 90
const EVENT_DAYS = 90
// Two years, to compare one with the previous one, and a margin.
const USAGE_DAYS = 800

// Rows of each table: few enough not to delay requests. Those being changed are left for the next step.
const ROWS_PER_STEP = 200
const SOME = `limit ${ROWS_PER_STEP} for update skip locked`

/** Keys, and orders that were ever paid, are kept forever. */
export const shopSweep = {
  /** One small step; true if there may be more to do. */
  *sweepShop(now: Date): Operation<boolean> {
    const before = (days: number) => now.getTime() - days * DAY_MS
    const orders = yield* query(
      `delete from shop.purchase where id in (
         select id from shop.purchase where payments = 0 and created_at < $1
           and not exists (select 1 from shop.api_key where api_key.id = key_id) ${SOME})
       returning 1`,
      [before(ORDER_DAYS)],
    )
    const events = yield* query(
      `delete from shop.payment_event where id in (
         select id from shop.payment_event where received_at < $1 ${SOME})
       returning 1`,
      [before(EVENT_DAYS)],
    )
    const usage = yield* query(
      `delete from shop.usage_day where (key_id, day) in (
         select key_id, day from shop.usage_day where day < $1 ${SOME})
       returning 1`,
      [utcDay(now) - USAGE_DAYS],
    )
    const sessions = yield* query(
      `delete from shop.admin_session where hash in (
         select hash from shop.admin_session where expires_at <= $1 ${SOME})
       returning 1`,
      [now.getTime()],
    )
    return [orders, events, usage, sessions].some(({ length }) => length === ROWS_PER_STEP)
  },
}
