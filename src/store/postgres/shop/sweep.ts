import { ROWS_PER_STEP, shopCutoffs } from '../../shop-retention.ts'
import type { Db } from '../connection/connections.ts'

// Rows that are being changed are left for the next step.
const SOME = `limit ${ROWS_PER_STEP} for update skip locked`

export function shopSweepWrites(db: Db) {
  return {
    /** One small step; true if there may be more to do. */
    async sweepShop(now: Date): Promise<boolean> {
      const due = shopCutoffs(now)
      const swept = [
        await db.query(
          `delete from shop.purchase where id in (
             select id from shop.purchase where payments = 0 and created_at < $1
               and not exists (select 1 from shop.api_key where api_key.id = key_id) ${SOME})
           returning 1`,
          [due.orders],
        ),
        await db.query(
          `delete from shop.payment_event where id in (
             select id from shop.payment_event where received_at < $1 ${SOME})
           returning 1`,
          [due.events],
        ),
        await db.query(
          `delete from shop.usage_day where (key_id, day) in (
             select key_id, day from shop.usage_day where day < $1 ${SOME})
           returning 1`,
          [due.usageDay],
        ),
      ]
      return swept.some(({ length }) => length === ROWS_PER_STEP)
    },
  }
}
