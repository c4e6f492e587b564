import { utcDay } from '../../../core/key.ts'
import { type KeyRow, spentOf } from '../../rows.ts'
import type { Spent, SpentFrom } from '../../shop-store.ts'
import type { Db } from '../files.ts'

export interface Spend {
  keyId: string
  now: Date
}

/** Takes requests from keys, and gives them back. A clock that steps back never opens a day that is already counted. */
export function spendingWrites(db: Db) {
  const spend = spendStatement(db)
  const count = db.prepare(
    `insert into usage_day (key_id, day, count) values (?, ?, ?)
     on conflict (key_id, day) do update set count = count + excluded.count`,
  )
  const giveBack = db.prepare(
    `update api_key set used = used - (period = @period), used_today = used_today - (day = @day)
     where id = @keyId and (used > 0 or period <> @period)`,
  )
  const uncount = db.prepare('update usage_day set count = count - 1 where key_id = ? and day = ?')

  /** The key as the last of these requests leaves it; undefined, and nothing is taken, when not all of them may pass. */
  function take(keyId: string, now: Date, wanted: number): KeyRow | undefined {
    const row = spend.get({ id: keyId, now: now.getTime(), day: utcDay(now), wanted })
    if (row) count.run(keyId, row.day, wanted)
    return row
  }

  return {
    returnRequest({ keyId, day, period }: { keyId: string } & SpentFrom): void {
      if (giveBack.run({ keyId, day, period }).changes === 1) uncount.run(keyId, day)
    },
    /** All that waited, at once: those for one key and day are added up, and each still has its own exact answer. */
    batches: {
      spendRequest(spends: readonly Spend[]): (Spent | undefined)[] {
        const answers = new Map<Spend, Spent | undefined>()
        const alike = Map.groupBy(spends, ({ keyId, now }) => `${utcDay(now)} ${keyId}`)
        for (const group of alike.values()) spendAlike(group, answers)
        return spends.map((one) => answers.get(one))
      },
    },
  }

  function spendAlike(group: readonly Spend[], answers: Map<Spend, Spent | undefined>): void {
    const [first] = group
    if (!first) return
    // The latest of them decides for all: if the plan still runs then, it did for the others.
    const latest = group.reduce((last, one) => (one.now > last ? one.now : last), first.now)
    const together = group.length > 1 ? take(first.keyId, latest, group.length) : undefined
    for (const [at, one] of group.entries()) {
      const row = together ?? take(one.keyId, one.now, 1)
      answers.set(one, row && spentOf(row, one.now, together ? group.length - 1 - at : 0))
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
