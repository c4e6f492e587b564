import type { Purchase } from '../../../core/purchase.ts'
import { claimOutcome, type PurchaseRow, purchaseOf } from '../../rows.ts'
import type { ClaimOutcome, KeyClaim, PurchaseChange, RecordedEvent } from '../../shop-store.ts'
import type { Db } from '../files.ts'

/** What payments do to orders and their keys. */
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
  const claim = secretSwap(db)

  function recordEvent(event: RecordedEvent, orderId: string | null): void {
    note.run(event.id, event.type, orderId, event.receivedAt.getTime())
  }

  return {
    recordEvent: (event: RecordedEvent): void => recordEvent(event, null),

    settlePurchase(change: PurchaseChange): boolean {
      const { orderId, revision, event } = change
      const row = byId.get(orderId)
      if (row?.revision !== revision) return false
      // The key first: what it becomes is told by how many payments the order knew before.
      const keyChanged = settleKey(purchaseOf(row), change)
      const orderChanged = settleOrder(row, change)
      // What is as it was keeps its revision: whoever asks the provider at the same moment need not begin again.
      if (keyChanged || orderChanged) moveOn.run(orderId)
      if (event) recordEvent(event, orderId)
      return true
    },

    claimKey(wish: KeyClaim): ClaimOutcome {
      const row = byId.get(wish.orderId)
      const outcome = claimOutcome(row, row && isLive.get(row.key_id) !== undefined, wish)
      if (row && outcome === 'claimed') claim(row, wish)
      return outcome
    },
  }
}

/** True when it changed something. */
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

/** True when it changed something. */
function keyUpdate(db: Db) {
  const insert = db.prepare(
    `insert or ignore into api_key (id, prefix, plan, label, max_requests, max_per_day, created_at)
     values (?, ?, ?, ?, ?, ?, ?)`,
  )
  const renew = db.prepare('update api_key set used = 0, period = period + 1 where id = ?')
  // What the operator revoked stays so, whatever is paid or returned.
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
