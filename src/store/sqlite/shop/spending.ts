import { utcDay } from '../../../core/key.ts'
import { type Operation, query } from '../../operation.ts'
import { type KeyRow, spentOf } from '../../rows.ts'
import { REFUND, SPEND } from '../../shop/keys.ts'
import type { ShopStore, Spent, SpentFrom } from '../../shop-store.ts'
import type { Db } from '../files.ts'
import { operationRunner } from '../operations.ts'

type Spend = Parameters<ShopStore['spendRequest']>

/** Charges all pending requests at once: those of one key and day are one statement, and each gets its own exact result. */
export function spendingBatches(db: Db) {
  const run = operationRunner(db)

  return {
    spendRequest(spends: readonly Spend[]): (Spent | undefined)[] {
      const results = new Map<Spend, Spent | undefined>()
      const groups = Map.groupBy(spends, ([keyId, now]) => `${utcDay(now)} ${keyId}`)
      for (const group of groups.values()) spendGroup(group, results)
      return spends.map((one) => results.get(one))
    },
  }

  function spendGroup(group: readonly Spend[], results: Map<Spend, Spent | undefined>): void {
    const [first] = group
    if (!first) return
    // If the plan is still valid at the latest time, it was at the others.
    const latest = group.reduce((last, [, now]) => (now > last ? now : last), first[1])
    const together = group.length > 1 ? run(take(first[0], latest, group.length)) : undefined
    for (const [at, one] of group.entries()) {
      const [keyId, now] = one
      const row = together ?? run(take(keyId, now, 1))
      results.set(one, row && spentOf(row, now, together ? group.length - 1 - at : 0))
    }
  }
}

export const refundWrites = {
  *returnRequest(keyId: string, { day, period }: SpentFrom): Operation<void> {
    const refunded = yield* query(REFUND, [keyId, day, period])
    if (refunded.length === 0) return
    const uncount = 'update usage_day set count = count - 1 where key_id = $1 and day = $2'
    yield* query(uncount, [keyId, day])
  },
}

/** The key after the last of these requests; undefined, and nothing is charged, unless all of them may pass. */
function* take(keyId: string, now: Date, wanted: number): Operation<KeyRow | undefined> {
  const [row] = yield* query<KeyRow>(SPEND, [keyId, now.getTime(), utcDay(now), wanted])
  if (!row) return undefined
  yield* query(
    `insert into usage_day (key_id, day, count) values ($1, $2, $3)
     on conflict (key_id, day) do update set count = count + excluded.count`,
    [keyId, row.day, wanted],
  )
  return row
}
