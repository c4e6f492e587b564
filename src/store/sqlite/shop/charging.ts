import { utcDay } from '../../../keys/rules.ts'
import { type ChargedKey, chargedKeyOf, chargeRequests, refund } from '../../../keys/store.ts'
import type { ShopStore } from '../../store.ts'
import type { Db } from '../files.ts'
import { operationRunner } from '../operations.ts'

type PendingCharge = Parameters<ShopStore['chargeRequest']>

/** Charges all pending requests at once: those of one key and day are one statement, and each gets its own exact result. */
export function chargeBatches(db: Db) {
  const run = operationRunner(db)

  return {
    /** Charges one request in a single statement; undefined if none is left. */
    chargeRequest(charges: readonly PendingCharge[]): (ChargedKey | undefined)[] {
      const results = new Map<PendingCharge, ChargedKey | undefined>()
      const groups = Map.groupBy(charges, ([keyId, now]) => `${utcDay(now)} ${keyId}`)
      for (const group of groups.values()) chargeGroup(group, results)
      return charges.map((one) => results.get(one))
    },
  }

  function chargeGroup(
    group: readonly PendingCharge[],
    results: Map<PendingCharge, ChargedKey | undefined>,
  ): void {
    const [first] = group
    if (!first) return
    // If the plan is still valid at the latest time, it was at the others.
    const latest = group.reduce((last, [, now]) => (now > last ? now : last), first[1])
    const together =
      group.length > 1 ? run(chargeRequests(first[0], latest, group.length)) : undefined
    for (const [at, one] of group.entries()) {
      const [keyId, now] = one
      const row = together ?? run(chargeRequests(keyId, now, 1))
      results.set(one, row && chargedKeyOf(row, now, together ? group.length - 1 - at : 0))
    }
  }
}

export const refundWrites = { refundRequest: refund }
