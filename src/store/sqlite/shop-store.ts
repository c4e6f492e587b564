import { join } from 'node:path'
import type { ShopStore, Spent } from '../shop-store.ts'
import { type Db, openReadOnly, SHOP_FILE } from './files.ts'
import type { Write } from './group-commit.ts'
import { keyReads, keyWrites } from './shop/keys.ts'
import { purchaseReads, purchaseWrites } from './shop/purchases.ts'
import { settlementWrites } from './shop/settlements.ts'
import { type Spend, spendingWrites } from './shop/spending.ts'
import { shopSweepWrites } from './shop/sweep.ts'

/** Every write to shop.db, by name: what the shop writer can be asked for. */
export function allShopWrites(db: Db) {
  const { batches, ...spending } = spendingWrites(db)
  const writes = {
    ...keyWrites(db),
    ...purchaseWrites(db),
    ...settlementWrites(db),
    ...shopSweepWrites(db),
    ...spending,
  }
  return { writes, batches }
}

export type ShopWrites = ReturnType<typeof allShopWrites>['writes'] & {
  spendRequest(spend: Spend): Spent | undefined
}

/** The shop as one thread sees it. Keys are read at each request, so that a revoke counts at once. */
export function openSqliteShop(folder: string, write: Write<ShopWrites>): ShopStore {
  const db = openReadOnly(join(folder, SHOP_FILE))
  const keys = keyReads(db)
  const purchases = purchaseReads(db)

  return {
    addKey: (key) => write('addKey', key),
    findKey: async (secretHash, now) => keys.findKey(secretHash, now),
    readKey: async (keyId, now) => keys.readKey(keyId, now),
    listKeys: async (now) => keys.listKeys(now),
    rollKey: (roll) => write('rollKey', roll),
    revokeKey: (keyId) => write('revokeKey', keyId),
    labelKey: (keyId, label) => write('labelKey', { keyId, label }),
    spendRequest: (keyId, now) => write('spendRequest', { keyId, now }),
    returnRequest: (keyId, { day, period }) => write('returnRequest', { keyId, day, period }),
    readUsage: async (keyId, fromDay) => keys.readUsage(keyId, fromDay),

    addPurchase: (purchase) => write('addPurchase', purchase),
    readPurchase: async (orderId) => purchases.readPurchase(orderId),
    findOrder: async (orderId, claimHash) => purchases.findOrder(orderId, claimHash),
    findPurchaseByRef: async (ref) => purchases.findPurchaseByRef(ref),
    listPurchases: async (limit) => purchases.listPurchases(limit),
    listUnsettled: async (wanted, limit) => purchases.listUnsettled(wanted, limit),
    saveCheckout: (orderId, checkout) => write('saveCheckout', { orderId, ...checkout }),
    settlePurchase: (change) => write('settlePurchase', change),
    claimKey: (claim) => write('claimKey', claim),
    hasEvent: async (eventId) => purchases.hasEvent(eventId),
    recordEvent: (event) => write('recordEvent', event),
    readReconciled: async (provider) => purchases.readReconciled(provider),
    saveReconciled: (provider, time) => write('saveReconciled', { provider, time }),

    listReceiptsDue: async (from, until, limit) => purchases.listReceiptsDue(from, until, limit),
    saveClaimLink: (orderId, linkHash) => write('saveClaimLink', { orderId, linkHash }),
    rescheduleReceipt: (orderId, again) => write('rescheduleReceipt', { orderId, again }),

    sweepShop: (now) => write('sweepShop', now),
    installationSecret: async (fresh) =>
      purchases.findSecret() ?? (await write('keepSecret', fresh)),
    async close() {
      db.close()
    },
  }
}
