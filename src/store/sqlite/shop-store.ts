import { join } from 'node:path'
import type { ShopStore } from '../shop-store.ts'
import { type Db, openReadOnly, SHOP_FILE } from './files.ts'
import {
  groupCommit,
  readMethods,
  type Write,
  type WritesOf,
  writeMethods,
} from './group-commit.ts'
import { keyReads, keyWrites } from './shop/keys.ts'
import { purchaseReads, purchaseWrites } from './shop/purchases.ts'
import { settlementWrites } from './shop/settlements.ts'
import { spendingWrites } from './shop/spending.ts'
import { shopSweepWrites } from './shop/sweep.ts'

/** Methods that the shop writer runs. */
const SHOP_WRITES = [
  'addKey',
  'rollKey',
  'revokeKey',
  'labelKey',
  'spendRequest',
  'returnRequest',
  'addPurchase',
  'saveCheckout',
  'settlePurchase',
  'claimKey',
  'recordEvent',
  'saveReconciled',
  'saveClaimLink',
  'rescheduleReceipt',
  'sweepShop',
] as const satisfies (keyof ShopStore)[]
type ShopWrite = (typeof SHOP_WRITES)[number]

/** Commits groups of writes to shop.db. */
export function openShopWriter(db: Db) {
  const { batches, ...spending } = spendingWrites(db)
  const writes = {
    ...keyWrites(db),
    ...purchaseWrites(db),
    ...settlementWrites(db),
    ...shopSweepWrites(db),
    ...spending,
  } satisfies WritesOf<ShopStore, Exclude<ShopWrite, keyof typeof batches>>
  return groupCommit(
    db,
    () => writes,
    () => {},
    batches,
  )
}

/** The shop of one thread. Keys are read for every request, so that a revoked one is refused at once. */
export function openSqliteShop(folder: string, write: Write): ShopStore {
  const db = openReadOnly(join(folder, SHOP_FILE))
  const { findSecret, ...purchases } = purchaseReads(db)

  return {
    ...writeMethods<ShopStore, ShopWrite>(SHOP_WRITES, write),
    ...readMethods({ ...keyReads(db), ...purchases, close: () => void db.close() }),
    installationSecret: async (fresh) =>
      findSecret() ?? ((await write('saveSecret', [fresh])) as Uint8Array),
  }
}
