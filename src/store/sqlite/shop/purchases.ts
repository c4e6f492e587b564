import type { Purchase } from '../../../core/purchase.ts'
import { matchesClaim, type PurchaseRow, purchaseOf } from '../../rows.ts'
import type { NewPurchase, UnsettledOrders } from '../../shop-store.ts'
import type { Db } from '../files.ts'

export function purchaseReads(db: Db) {
  const byId = db.prepare<[string], PurchaseRow>('select * from purchase where id = ?')
  const byRef = db.prepare<[string, string], PurchaseRow>(
    'select * from purchase where checkout_ref = ? or subscription_ref = ?',
  )
  const newest = db.prepare<[number], PurchaseRow>(
    'select * from purchase order by created_at desc, id limit ?',
  )
  // Written like the condition of the partial index, or SQLite would not use it.
  const unsettled = db.prepare<[string, string, number, number, number], PurchaseRow>(
    `select * from purchase where state in ('open', 'pending') and checkout_ref is not null
       and provider = ? and mode = ? and created_at > ? and created_at < ?
     order by created_at limit ?`,
  )
  const receipts = db.prepare<[number, number, number], PurchaseRow>(
    'select * from purchase where receipt_at between ? and ? order by receipt_at limit ?',
  )
  const event = db.prepare<[string], number>('select 1 from payment_event where id = ?').pluck()
  const reconciled = db
    .prepare<[string], number>('select until from reconciled where provider = ?')
    .pluck()
  const secret = db.prepare<[], Buffer>('select secret from installation').pluck()

  return {
    findSecret: (): Uint8Array | undefined => secret.get(),
    readPurchase(orderId: string): Purchase | undefined {
      const row = byId.get(orderId)
      return row && purchaseOf(row)
    },
    findOrder(orderId: string, claimHash: string): Purchase | undefined {
      const row = byId.get(orderId)
      return row && matchesClaim(row, claimHash) ? purchaseOf(row) : undefined
    },
    findPurchaseByRef(ref: string): Purchase | undefined {
      const row = byRef.get(ref, ref)
      return row && purchaseOf(row)
    },
    listPurchases: (limit: number): Purchase[] => newest.all(limit).map(purchaseOf),
    listUnsettled({ provider, mode, after, before }: UnsettledOrders, limit: number): Purchase[] {
      const rows = unsettled.all(provider, mode, after.getTime(), before.getTime(), limit)
      return rows.map(purchaseOf)
    },
    listReceiptsDue: (from: Date, until: Date, limit: number): Purchase[] =>
      receipts.all(from.getTime(), until.getTime(), limit).map(purchaseOf),
    hasEvent: (eventId: string): boolean => event.get(eventId) !== undefined,
    readReconciled(provider: string): Date | undefined {
      const until = reconciled.get(provider)
      return until === undefined ? undefined : new Date(until)
    },
  }
}

export function purchaseWrites(db: Db) {
  const same = db.prepare<[string], PurchaseRow>(
    'select * from purchase where idempotency_hash = ?',
  )
  const insert = db.prepare<unknown[], PurchaseRow>(
    `insert into purchase (id, provider, mode, plan, email, claim_hash, idempotency_hash, created_at, key_id, key_prefix)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning *`,
  )
  const checkout = db.prepare('update purchase set checkout_ref = ?, checkout_url = ? where id = ?')
  const link = db.prepare('update purchase set link_hash = ? where id = ?')
  const receipt = db.prepare('update purchase set receipt_at = ? where id = ?')
  const until = db.prepare(
    `insert into reconciled (provider, until) values (?, ?)
     on conflict (provider) do update set until = excluded.until`,
  )

  const secret = db
    .prepare<[Uint8Array], Buffer>(
      `insert into installation (id, secret) values (1, ?)
       on conflict do update set secret = secret returning secret`,
    )
    .pluck()

  return {
    saveSecret(fresh: Uint8Array): Uint8Array {
      const stored = secret.get(fresh)
      if (!stored) throw new Error('the installation secret was not stored')
      return stored
    },
    addPurchase(order: NewPurchase): Purchase {
      const { idempotencyHash } = order
      const row =
        (idempotencyHash === undefined ? undefined : same.get(idempotencyHash)) ??
        insert.get(
          order.id,
          order.provider,
          order.mode,
          JSON.stringify(order.plan),
          order.email ?? null,
          order.claimHash,
          idempotencyHash ?? null,
          order.createdAt.getTime(),
          order.keyId,
          order.keyPrefix,
        )
      if (!row) throw new Error('the order was not stored')
      return purchaseOf(row)
    },
    saveCheckout(orderId: string, { ref, url }: { ref: string; url: string }): void {
      checkout.run(ref, url, orderId)
    },
    saveClaimLink(orderId: string, linkHash: string): void {
      link.run(linkHash, orderId)
    },
    rescheduleReceipt(orderId: string, retryAt: Date | undefined): void {
      receipt.run(retryAt?.getTime() ?? null, orderId)
    },
    saveReconciled(provider: string, time: Date): void {
      until.run(provider, time.getTime())
    },
  }
}
