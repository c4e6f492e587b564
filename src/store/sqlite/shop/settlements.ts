import type { Purchase } from '../../../core/purchase.ts'
import { claimOutcome, type PurchaseRow, purchaseOf } from '../../rows.ts'
import type { ClaimOutcome, KeyClaim, PurchaseChange, RecordedEvent } from '../../shop-store.ts'
import type { Db } from '../files.ts'

/** What payments change in orders and keys. */
export function settlementWrites(db: Db) {
  const byId = db.prepare<[string], PurchaseRow>('select * from purchase where id = ?')
  const note = db.prepare(
    'insert or ignore into payment_event (id, type, order_id, received_at) values (?, ?, ?, ?)',
  )
  const moveOn = db.prepare('update purchase set revision = revision + 1 where id = ?')
  const settleOrder = orderUpdate(db)
  const settleKey = keyUpdate(db)
  const isLive = db
    .prepare<[string], number>(`select 1 from api_key where id = ? and state = 'active'`)
    .pluck()
  const swapSecrets = secretSwap(db)

  function recordEvent(event: RecordedEvent, orderId: string | null): void {
    note.run(event.id, event.type, orderId, event.receivedAt.getTime())
  }

  return {
    recordEvent: (event: RecordedEvent): void => recordEvent(event, null),

    settlePurchase(change: PurchaseChange): boolean {
      const { orderId, revision, event } = change
      const row = byId.get(orderId)
      if (row?.revision !== revision) return false
      // The key first: its change depends on the number of payments that the order had before.
      const keyChanged = settleKey(purchaseOf(row), change)
      const orderChanged = settleOrder(row, change)
      // Without a change the revision stays, so that a concurrent settlement need not start over.
      if (keyChanged || orderChanged) moveOn.run(orderId)
      if (event) recordEvent(event, orderId)
      return true
    },

    claimKey(claim: KeyClaim): ClaimOutcome {
      const row = byId.get(claim.orderId)
      const outcome = claimOutcome(row, row && isLive.get(row.key_id) !== undefined, claim)
      if (row && outcome === 'claimed') swapSecrets(row, claim)
      return outcome
    },
  }
}

/** True if anything has changed. */
function orderUpdate(db: Db) {
  const update = db.prepare(
    `update purchase set state = @state, subscription_ref = @subscription, payments = @payments,
       paid_until = @until, partly_returned = @partly, receipt_at = coalesce(receipt_at, @receipt)
     where id = @id and (state is not @state or subscription_ref is not @subscription
       or payments is not @payments or paid_until is not @until or partly_returned is not @partly)`,
  )
  return (row: PurchaseRow, { settlement, now }: PurchaseChange): boolean => {
    const isFirst = row.payments === 0 && settlement.payments > 0
    const { changes } = update.run({
      id: row.id,
      state: settlement.state,
      subscription: settlement.subscriptionRef ?? null,
      payments: settlement.payments,
      until: settlement.paidUntil?.getTime() ?? null,
      partly: settlement.partlyReturned ? 1 : 0,
      receipt: isFirst && row.email !== null ? now.getTime() : null,
    })
    return changes === 1
  }
}

/** True if anything has changed. */
function keyUpdate(db: Db) {
  const insert = db.prepare(
    `insert or ignore into api_key (id, prefix, plan, label, max_requests, max_per_day, created_at)
     values (?, ?, ?, ?, ?, ?, ?)`,
  )
  const renew = db.prepare('update api_key set used = 0, period = period + 1 where id = ?')
  // A key revoked by the operator stays revoked, whatever is paid or refunded.
  const update = db.prepare(
    `update api_key set expires_at = @ends, state = case state when 'revoked' then state else @state end
     where id = @id and (expires_at is not @ends or state not in ('revoked', @state))`,
  )
  return (order: Purchase, { settlement, now }: PurchaseChange): boolean => {
    const { key, payments } = settlement
    if (!key) return false
    const { keyId, keyPrefix, plan } = order
    insert.run(
      keyId,
      keyPrefix,
      plan.id,
      order.id,
      plan.requests,
      plan.perDay ?? null,
      now.getTime(),
    )
    if (payments > order.payments && order.payments > 0) renew.run(keyId)
    const ends = key.expiresAt?.getTime() ?? null
    return update.run({ id: keyId, ends, state: key.state }).changes === 1
  }
}

function secretSwap(db: Db) {
  const dropSecrets = db.prepare('delete from key_secret where key_id = ?')
  const addSecret = db.prepare('insert into key_secret (hash, key_id) values (?, ?)')
  const claimed = db.prepare(
    `update purchase set claimed_at = coalesce(claimed_at, @now),
       link_hash = case link_hash when @used then null else link_hash end where id = @id`,
  )
  return (row: PurchaseRow, { claimHash, secretHash, now }: KeyClaim): void => {
    dropSecrets.run(row.key_id)
    addSecret.run(secretHash, row.key_id)
    claimed.run({ now: now.getTime(), used: claimHash, id: row.id })
  }
}
