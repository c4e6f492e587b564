import { claimOutcome, type PurchaseRow, purchaseOf } from '../../rows.ts'
import type { ClaimOutcome, KeyClaim, PurchaseChange, RecordedEvent } from '../../shop-store.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { lockKey } from './keys.ts'
import { PURCHASE_COLUMNS } from './purchases.ts'

/** What payments change in orders and keys. The order is locked first, then the key. */
export function settlementWrites(connections: Connections) {
  return {
    recordEvent: (event: RecordedEvent): Promise<void> => recordEvent(connections, event, null),

    settlePurchase: (change: PurchaseChange): Promise<boolean> =>
      connections.transaction(async (db) => {
        const { orderId, revision, event } = change
        const row = await lockOrder(db, orderId)
        if (row?.revision !== revision) return false
        // The key first: its change depends on the number of payments that the order had before.
        const keyChanged = await settleKey(db, row, change)
        const orderChanged = await settleOrder(db, row, change)
        // Without a change the revision stays, so that a concurrent settlement need not start over.
        if (keyChanged || orderChanged) {
          await db.query('update shop.purchase set revision = revision + 1 where id = $1', [
            orderId,
          ])
        }
        if (event) await recordEvent(db, event, orderId)
        return true
      }),

    claimKey: (claim: KeyClaim): Promise<ClaimOutcome> =>
      connections.transaction(async (db) => {
        const row = await lockOrder(db, claim.orderId)
        const state = row && (await lockKey(db, row.key_id))
        const outcome = claimOutcome(row, state === 'active', claim)
        if (row && outcome === 'claimed') await swapSecrets(db, row, claim)
        return outcome
      }),
  }
}

async function lockOrder(db: Db, orderId: string): Promise<PurchaseRow | undefined> {
  const [row] = await db.query<PurchaseRow>(
    `select ${PURCHASE_COLUMNS} from shop.purchase where id = $1 for no key update`,
    [orderId],
  )
  return row
}

async function recordEvent(db: Db, event: RecordedEvent, orderId: string | null): Promise<void> {
  await db.query(
    `insert into shop.payment_event (id, type, order_id, received_at) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [event.id, event.type, orderId, event.receivedAt.getTime()],
  )
}

/** True if anything has changed. */
async function settleOrder(
  db: Db,
  row: PurchaseRow,
  { settlement, now }: PurchaseChange,
): Promise<boolean> {
  const { state, subscriptionRef = null, payments, paidUntil, partlyReturned } = settlement
  const isFirst = row.payments === 0 && payments > 0
  const changed = await db.query(
    `update shop.purchase set state = $2, subscription_ref = $3, payments = $4, paid_until = $5,
       partly_returned = $6, receipt_at = coalesce(receipt_at, $7)
     where id = $1 and (state, subscription_ref, payments, paid_until, partly_returned)
       is distinct from ($2, $3, $4, $5, $6)
     returning id`,
    [
      row.id,
      state,
      subscriptionRef,
      payments,
      paidUntil?.getTime() ?? null,
      partlyReturned,
      isFirst && row.email !== null ? now.getTime() : null,
    ],
  )
  return changed.length === 1
}

/** True if anything has changed. */
async function settleKey(
  db: Db,
  row: PurchaseRow,
  { settlement: { key, payments }, now }: PurchaseChange,
): Promise<boolean> {
  if (!key) return false
  const { keyId, keyPrefix, plan, payments: before } = purchaseOf(row)
  await db.query(
    `insert into shop.api_key (id, prefix, plan, label, max_requests, max_per_day, created_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    [keyId, keyPrefix, plan.id, row.id, plan.requests, plan.perDay ?? null, now.getTime()],
  )
  if (payments > before && before > 0) {
    await db.query('update shop.api_key set used = 0, period = period + 1 where id = $1', [keyId])
  }
  // A key revoked by the operator stays revoked, whatever is paid or refunded.
  const changed = await db.query(
    `update shop.api_key set expires_at = $2, state = case state when 'revoked' then state else $3 end
     where id = $1 and (expires_at is distinct from $2 or state not in ('revoked', $3)) returning id`,
    [keyId, key.expiresAt?.getTime() ?? null, key.state],
  )
  return changed.length === 1
}

async function swapSecrets(
  db: Db,
  row: PurchaseRow,
  { claimHash, secretHash, now }: KeyClaim,
): Promise<void> {
  await db.query('delete from shop.key_secret where key_id = $1', [row.key_id])
  await db.query('insert into shop.key_secret (hash, key_id) values ($1, $2)', [
    secretHash,
    row.key_id,
  ])
  await db.query(
    `update shop.purchase set claimed_at = coalesce(claimed_at, $2),
       link_hash = case link_hash when $3 then null else link_hash end
     where id = $1`,
    [row.id, now.getTime(), claimHash],
  )
}
