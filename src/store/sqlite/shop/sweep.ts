import { ROWS_PER_STEP, shopCutoffs } from '../../shop-retention.ts'
import type { Db } from '../files.ts'

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
    /** One small step; true if there may be more to do. */
    sweepShop(now: Date): boolean {
      const due = shopCutoffs(now)
      const swept = [
        orders.run(due.orders, ROWS_PER_STEP),
        events.run(due.events, ROWS_PER_STEP),
        usage.run(due.usageDay, ROWS_PER_STEP),
      ]
      return swept.some(({ changes }) => changes === ROWS_PER_STEP)
    },
  }
}
