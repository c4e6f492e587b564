import type { ShopStore } from '../shop-store.ts'
import { keyReads, keyWrites } from './keys.ts'
import { purchaseReads, purchaseWrites } from './purchases.ts'
import { openReadyPool, type ReadyPoolOptions } from './server.ts'
import { settlingWrites } from './settling.ts'
import { shopSweepWrites } from './shop-sweep.ts'
import { spendingWrites } from './spending.ts'

/** The shop as one thread of one node sees it. Keys are read at each request, so that a revoke counts at once. */
export async function openPostgresShop(options: ReadyPoolOptions): Promise<ShopStore> {
  const pool = await openReadyPool(options, 'shop')
  return {
    ...keyReads(pool),
    ...keyWrites(pool),
    ...spendingWrites(pool),
    ...purchaseReads(pool),
    ...purchaseWrites(pool),
    ...settlingWrites(pool),
    ...shopSweepWrites(pool),
    close: () => pool.close(),
  }
}
