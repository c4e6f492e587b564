import { type Operation, query } from '../base/operation.ts'
import { addSecret, lockKey } from '../keys/store.ts'
import {
  addEvent,
  type ClaimOutcome,
  claimOutcome,
  type KeyClaim,
  PURCHASE_COLUMNS,
  type PurchaseChange,
  type PurchaseRow,
  purchaseOf,
} from './purchase-store.ts'

/** What payments change in orders and keys, by several statements. The order is locked first, then the key. */
export const settlementTransactions = {
  /**
   * Applies a settlement to the order, its key and its counters, and records the event that caused it, in one commit. The first
   * payment creates the key; later ones reset its used requests. False, and nothing is changed, if the order has changed since `revision`.
   */
  *settlePurchase(change: PurchaseChange): Operation<boolean> {
    const { orderId, revision, event } = change
    const row = yield* lockOrder(orderId)
    if (row?.revision !== revision) return false
    // The key first: its change depends on the number of payments that the order had before.
    const keyChanged = yield* settleKey(row, change)
    const orderChanged = yield* settleOrder(row, change)
    // Without a change the revision stays, so that a concurrent settlement need not start over.
    if (keyChanged || orderChanged) {
      yield* query('update shop.purchase set revision = revision + 1 where id = $1', [orderId])
    }
    if (event) yield* addEvent(event, orderId)
    return true
  },

  /** Replaces all secrets of the key. A one-time link is used up by it. */
  *claimKey(claim: KeyClaim): Operation<ClaimOutcome> {
    const row = yield* lockOrder(claim.orderId)
    const state = row && (yield* lockKey(row.key_id))
    const outcome = claimOutcome(row, state === 'active', claim)
    if (row && outcome === 'claimed') yield* swapSecrets(row, claim)
    return outcome
  },
}

function* lockOrder(orderId: string): Operation<PurchaseRow | undefined> {
  const [row] = yield* query<PurchaseRow>(
    `select ${PURCHASE_COLUMNS} from shop.purchase where id = $1 for no key update`,
    [orderId],
  )
  return row
}

/** True if anything has changed. */
function* settleOrder(row: PurchaseRow, { settlement, now }: PurchaseChange): Operation<boolean> {
  const { state, subscriptionRef, payments, paidUntil, partlyReturned } = settlement
  const isFirst = row.payments === 0 && payments > 0
  const receiptAt = isFirst && row.email !== null ? now.getTime() : null
  const changed = yield* query(
    `update shop.purchase set state = $2, subscription_ref = $3, payments = $4, paid_until = $5,
       partly_returned = $6, receipt_at = coalesce(receipt_at, $7)
     where id = $1 and (state, subscription_ref, payments, paid_until, partly_returned)
       is distinct from ($2, $3, $4, $5, $6)
     returning id`,
    [row.id, state, subscriptionRef, payments, paidUntil?.getTime(), partlyReturned, receiptAt],
  )
  return changed.length === 1
}

/** True if anything has changed. */
function* settleKey(
  row: PurchaseRow,
  { settlement: { key, payments }, now }: PurchaseChange,
): Operation<boolean> {
  if (!key) return false
  const { keyId, keyPrefix, plan, payments: before } = purchaseOf(row)
  yield* query(
    `insert into shop.api_key (id, prefix, plan, label, max_requests, max_per_day, created_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    [keyId, keyPrefix, plan.id, row.id, plan.requests, plan.perDay, now.getTime()],
  )
  if (payments > before && before > 0) {
    yield* query('update shop.api_key set used = 0, period = period + 1 where id = $1', [keyId])
  }
  // A key revoked by the operator stays revoked, whatever is paid or refunded.
  const changed = yield* query(
    `update shop.api_key set expires_at = $2, state = case state when 'revoked' then state else $3 end
     where id = $1 and (expires_at is distinct from $2 or state not in ('revoked', $3)) returning id`,
    [keyId, key.expiresAt?.getTime(), key.state],
  )
  return changed.length === 1
}

function* swapSecrets(row: PurchaseRow, { claimHash, secretHash, now }: KeyClaim): Operation<void> {
  yield* query('delete from shop.key_secret where key_id = $1', [row.key_id])
  yield* addSecret(row.key_id, secretHash)
  yield* query(
    `update shop.purchase set claimed_at = coalesce(claimed_at, $2),
       link_hash = case link_hash when $3 then null else link_hash end
     where id = $1`,
    [row.id, now.getTime(), claimHash],
  )
}
