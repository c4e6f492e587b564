import type { Purchase } from '../../../core/purchase.ts'
import { matchesClaim, type PurchaseRow, purchaseOf } from '../../rows.ts'
import type { NewPurchase, UnsettledOrders } from '../../shop-store.ts'
import type { Db } from '../connection/connections.ts'

export const PURCHASE_COLUMNS = `id, provider, mode, plan, email, claim_hash, link_hash, revision, state,
  created_at, checkout_ref, checkout_url, subscription_ref, key_id, key_prefix, payments, paid_until,
  partly_returned, claimed_at, receipt_at`

export function purchaseReads(db: Db) {
  async function list(rest: string, values: readonly unknown[]): Promise<Purchase[]> {
    const rows = await db.query<PurchaseRow>(
      `select ${PURCHASE_COLUMNS} from shop.purchase ${rest}`,
      values,
    )
    return rows.map(purchaseOf)
  }

  return {
    async readPurchase(orderId: string): Promise<Purchase | undefined> {
      const row = await findRow(db, orderId)
      return row && purchaseOf(row)
    },
    async findOrder(orderId: string, claimHash: string): Promise<Purchase | undefined> {
      const row = await findRow(db, orderId)
      return row && matchesClaim(row, claimHash) ? purchaseOf(row) : undefined
    },
    async findPurchaseByRef(ref: string): Promise<Purchase | undefined> {
      const [order] = await list('where checkout_ref = $1 or subscription_ref = $1', [ref])
      return order
    },
    listPurchases: (limit: number): Promise<Purchase[]> =>
      list('order by created_at desc, id limit $1', [limit]),
    listUnsettled: (wanted: UnsettledOrders, limit: number): Promise<Purchase[]> =>
      // Written like the condition of the partial index, or PostgreSQL would not use it.
      list(
        `where state in ('open', 'pending') and checkout_ref is not null
           and provider = $1 and mode = $2 and created_at > $3 and created_at < $4
         order by created_at limit $5`,
        [wanted.provider, wanted.mode, wanted.after.getTime(), wanted.before.getTime(), limit],
      ),
    listReceiptsDue: (from: Date, until: Date, limit: number): Promise<Purchase[]> =>
      list('where receipt_at between $1 and $2 order by receipt_at limit $3', [
        from.getTime(),
        until.getTime(),
        limit,
      ]),
    async hasEvent(eventId: string): Promise<boolean> {
      const found = await db.query('select 1 from shop.payment_event where id = $1', [eventId])
      return found.length === 1
    },
    async readReconciled(provider: string): Promise<Date | undefined> {
      const [row] = await db.query<{ until: number }>(
        'select until from shop.reconciled where provider = $1',
        [provider],
      )
      return row && new Date(row.until)
    },
  }
}

export function purchaseWrites(db: Db) {
  return {
    async addPurchase(order: NewPurchase): Promise<Purchase> {
      // An existing order is written unchanged, because only then PostgreSQL returns it.
      const [row] = await db.query<PurchaseRow>(
        `insert into shop.purchase as known (id, provider, mode, plan, email, claim_hash,
           idempotency_hash, created_at, key_id, key_prefix)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         on conflict (idempotency_hash) do update set revision = known.revision
         returning ${PURCHASE_COLUMNS}`,
        [
          order.id,
          order.provider,
          order.mode,
          JSON.stringify(order.plan),
          order.email ?? null,
          order.claimHash,
          order.idempotencyHash ?? null,
          order.createdAt.getTime(),
          order.keyId,
          order.keyPrefix,
        ],
      )
      if (!row) throw new Error('the order was not stored')
      return purchaseOf(row)
    },
    async saveCheckout(orderId: string, { ref, url }: { ref: string; url: string }): Promise<void> {
      await db.query(
        'update shop.purchase set checkout_ref = $2, checkout_url = $3 where id = $1',
        [orderId, ref, url],
      )
    },
    async saveClaimLink(orderId: string, linkHash: string): Promise<void> {
      await db.query('update shop.purchase set link_hash = $2 where id = $1', [orderId, linkHash])
    },
    async rescheduleReceipt(orderId: string, retryAt: Date | undefined): Promise<void> {
      await db.query('update shop.purchase set receipt_at = $2 where id = $1', [
        orderId,
        retryAt?.getTime() ?? null,
      ])
    },
    async saveReconciled(provider: string, time: Date): Promise<void> {
      await db.query(
        `insert into shop.reconciled (provider, until) values ($1, $2)
         on conflict (provider) do update set until = excluded.until`,
        [provider, time.getTime()],
      )
    },
    async installationSecret(fresh: Uint8Array): Promise<Uint8Array> {
      const [stored] = await db.query<SecretRow>('select secret from shop.installation')
      const [row] = stored ? [stored] : await db.query<SecretRow>(INSERT_SECRET, [fresh])
      if (!row) throw new Error('the installation secret was not stored')
      return row.secret
    },
  }
}

interface SecretRow {
  secret: Uint8Array
}

const INSERT_SECRET = `insert into shop.installation as known (id, secret) values (1, $1)
  on conflict (id) do update set secret = known.secret returning secret`

async function findRow(db: Db, orderId: string): Promise<PurchaseRow | undefined> {
  const [row] = await db.query<PurchaseRow>(
    `select ${PURCHASE_COLUMNS} from shop.purchase where id = $1`,
    [orderId],
  )
  return row
}
