import { join } from 'node:path'
import { type AsyncMethods, namesOf } from '../../base/operation.ts'
import { shopReads, shopTransactions, shopWrites } from '../operations.ts'
import type { ShopStore } from '../store.ts'
import { type Db, openReader, SHOP_FILE } from './files.ts'
import { groupCommit, readMethods, type Write, writeMethods } from './group-commit.ts'
import { syncMethods } from './operations.ts'
import { chargeBatches, refundWrites } from './shop/charging.ts'

/** Operations that the shop writer runs, beside chargeRequest. */
const SHOP_WRITES = { ...shopWrites, ...shopTransactions, ...refundWrites }

const NAMES = [...namesOf(SHOP_WRITES), 'chargeRequest'] as const

type ShopWrites = AsyncMethods<typeof SHOP_WRITES> & Pick<ShopStore, 'chargeRequest'>

/** Commits groups of writes to shop.db. */
export function openShopWriter(db: Db) {
  return groupCommit(db, syncMethods(db, SHOP_WRITES), { batches: chargeBatches(db) })
}

/** The shop of one thread. Keys are read for every request, so that a revoked one is refused at once. */
export function openSqliteShop(folder: string, write: Write): ShopStore {
  const db = openReader(join(folder, SHOP_FILE))
  const reads = syncMethods(db, shopReads)
  const { saveSecret, ...writes } = writeMethods<ShopWrites, (typeof NAMES)[number]>(NAMES, write)

  return {
    ...writes,
    ...readMethods({ ...reads, close: () => void db.close() }),
    installationSecret: async (fresh) => reads.findSecret() ?? (await saveSecret(fresh)),
  }
}
