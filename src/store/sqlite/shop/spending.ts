import { utcDay } from '../../../keys/rules.ts'
import { refund, type Spent, spend, spentOf } from '../../../keys/store.ts'
import type { ShopStore } from '../../store.ts'
import type { Db } from '../files.ts'
import { operationRunner } from '../operations.ts'

type Spend = Parameters<ShopStore['spendRequest']>

/** Charges all pending requests at once: those of one key and day are one statement, and each gets its own exact result. */
export function spendingBatches(db: Db) {
  const run = operationRunner(db)

  return {
    /** Charges one request in a single statement; undefined if none is left. */
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
    const together = group.length > 1 ? run(spend(first[0], latest, group.length)) : undefined
    for (const [at, one] of group.entries()) {
      const [keyId, now] = one
      const row = together ?? run(spend(keyId, now, 1))
      results.set(one, row && spentOf(row, now, together ? group.length - 1 - at : 0))
    }
  }
}

export const refundWrites = { returnRequest: refund }
