import { dayOf } from '../../core/quota.ts'
import type { Db } from './files.ts'

const DAY_MS = 86_400_000
// A provider remembers a checkout for a day, sends a message again for three and lists it for thirty.
const ORDER_DAYS = 90
const EVENT_DAYS = 90
// Two years, to compare one with the one before, and a little.
const USAGE_DAYS = 800
// Small enough that a request waiting behind a step hardly notices.
const ROWS_A_STEP = 200

/** What the shop need not remember. A key, and an order that was ever paid, stay for good. */
export function shopSweepWrites(db: Db) {
  const orders = db.prepare(
    `delete from purchase where id in (select id from purchase where payments = 0 and created_at < ?
       and not exists (select 1 from api_key where api_key.id = key_id) limit ?)`,
  )
  const events = db.prepare(
    'delete from payment_event where id in (select id from payment_event where received_at < ? limit ?)',
  )
  const usage = db.prepare(
    `delete from usage_day where (key_id, day) in
       (select key_id, day from usage_day where day < ? limit ?)`,
  )

  return {
    /** One small step; true when it was used up and there may be more. */
    sweepShop(now: Date): boolean {
      const before = (days: number) => now.getTime() - days * DAY_MS
      const swept = [
        orders.run(before(ORDER_DAYS), ROWS_A_STEP),
        events.run(before(EVENT_DAYS), ROWS_A_STEP),
        usage.run(dayOf(now) - USAGE_DAYS, ROWS_A_STEP),
      ]
      return swept.some(({ changes }) => changes === ROWS_A_STEP)
    },
  }
}
