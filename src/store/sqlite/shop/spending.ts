import { utcDay } from '../../../core/key.ts'
import { type KeyRow, spentOf } from '../../rows.ts'
import type { ShopStore, Spent, SpentFrom } from '../../shop-store.ts'
import type { Db } from '../files.ts'

type Spend = Parameters<ShopStore['spendRequest']>

/** Charges requests to keys, and refunds them. A clock that steps back never reopens a day. */
export function spendingWrites(db: Db) {
  const spend = spendStatement(db)
  const count = db.prepare(
    `insert into usage_day (key_id, day, count) values (?, ?, ?)
     on conflict (key_id, day) do update set count = count + excluded.count`,
  )
  const refund = db.prepare(
    `update api_key set used = used - (period = @period), used_today = used_today - (day = @day)
     where id = @keyId and (used > 0 or period <> @period)`,
  )
  const uncount = db.prepare('update usage_day set count = count - 1 where key_id = ? and day = ?')

  /** The key after the last of these requests; undefined, and nothing is charged, unless all of them may pass. */
  function take(keyId: string, now: Date, wanted: number): KeyRow | undefined {
    const row = spend.get({ id: keyId, now: now.getTime(), day: utcDay(now), wanted })
    if (row) count.run(keyId, row.day, wanted)
    return row
  }

  return {
    returnRequest(keyId: string, { day, period }: SpentFrom): void {
      if (refund.run({ keyId, day, period }).changes === 1) uncount.run(keyId, day)
    },
    /** All pending requests at once: those of one key and day are one statement, and each gets its own exact result. */
    batches: {
      spendRequest(spends: readonly Spend[]): (Spent | undefined)[] {
        const results = new Map<Spend, Spent | undefined>()
        const groups = Map.groupBy(spends, ([keyId, now]) => `${utcDay(now)} ${keyId}`)
        for (const group of groups.values()) spendGroup(group, results)
        return spends.map((one) => results.get(one))
      },
    },
  }

  function spendGroup(group: readonly Spend[], results: Map<Spend, Spent | undefined>): void {
    const [first] = group
    if (!first) return
    // If the plan is still valid at the latest time, it was at the others.
    const latest = group.reduce((last, [, now]) => (now > last ? now : last), first[1])
    const together = group.length > 1 ? take(first[0], latest, group.length) : undefined
    for (const [at, one] of group.entries()) {
      const [keyId, now] = one
      const row = together ?? take(keyId, now, 1)
      results.set(one, row && spentOf(row, now, together ? group.length - 1 - at : 0))
    }
  }
}

function spendStatement(db: Db) {
  return db.prepare<{ id: string; now: number; day: number; wanted: number }, KeyRow>(
    `update api_key set used = used + @wanted,
       used_today = case when day >= @day then used_today + @wanted else @wanted end,
       day = max(day, @day)
     where id = @id and state = 'active' and used + @wanted <= max_requests
       and (expires_at is null or expires_at > @now)
       and (max_per_day is null
         or case when day >= @day then used_today else 0 end + @wanted <= max_per_day)
     returning *`,
  )
}
