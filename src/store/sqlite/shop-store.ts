import { join } from 'node:path'
import { adminSessionReads, adminSessionWrites } from '../../admin/session-store.ts'
import { type AsyncMethods, namesOf } from '../../base/operation.ts'
import { installationReads, installationWrites } from '../../keys/installation-store.ts'
import { keyReads, keyTransactions, keyWrites } from '../../keys/store.ts'
import { purchaseReads, purchaseWrites } from '../../shop/purchase-store.ts'
import { settlementTransactions } from '../../shop/settlement-store.ts'
import { webhookReads } from '../../webhooks/store-reads.ts'
import { webhookTransactions, webhookWrites } from '../../webhooks/store-writes.ts'
import { shopSweep } from '../shop/sweep.ts'
import type { ShopStore } from '../store.ts'
import { type Db, openReader, SHOP_FILE } from './files.ts'
import { groupCommit, readMethods, type Write, writeMethods } from './group-commit.ts'
import { syncMethods } from './operations.ts'
import { refundWrites, spendingBatches } from './shop/spending.ts'

/** Operations that the shop writer runs, beside spendRequest. */
const SHOP_WRITES = {
  ...adminSessionWrites,
  ...installationWrites,
  ...keyWrites,
  ...keyTransactions,
  ...purchaseWrites,
  ...settlementTransactions,
  ...refundWrites,
  ...shopSweep,
  ...webhookWrites,
  ...webhookTransactions,
}

const NAMES = [...namesOf(SHOP_WRITES), 'spendRequest'] as const

type ShopWrites = AsyncMethods<typeof SHOP_WRITES> & Pick<ShopStore, 'spendRequest'>

/** Commits groups of writes to shop.db. */
export function openShopWriter(db: Db) {
  const writes = syncMethods(db, SHOP_WRITES)
  return groupCommit(
    db,
    () => writes,
    () => {},
    spendingBatches(db),
  )
}

/** The shop of one thread. Keys are read for every request, so that a revoked one is refused at once. */
export function openSqliteShop(folder: string, write: Write): ShopStore {
  const db = openReader(join(folder, SHOP_FILE))
  const { findSecret, ...reads } = syncMethods(db, {
    ...adminSessionReads,
    ...keyReads,
    ...installationReads,
    ...purchaseReads,
    ...webhookReads,
  })
  const { saveSecret, ...writes } = writeMethods<ShopWrites, (typeof NAMES)[number]>(NAMES, write)

  return {
    ...writes,
    ...readMethods({ ...reads, close: () => void db.close() }),
    installationSecret: async (fresh) => findSecret() ?? (await saveSecret(fresh)),
  }
}
