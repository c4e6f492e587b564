import type { ShopStore } from '../shop-store.ts'
import { type CheckedConnectionOptions, openCheckedConnections } from './connection/server.ts'
import { keyReads, keyWrites } from './shop/keys.ts'
import { purchaseReads, purchaseWrites } from './shop/purchases.ts'
import { settlementWrites } from './shop/settlements.ts'
import { spendingWrites } from './shop/spending.ts'
import { shopSweepWrites } from './shop/sweep.ts'

/** The shop as one thread of one node sees it. Keys are read at each request, so that a revoke counts at once. */
export async function openPostgresShop(options: CheckedConnectionOptions): Promise<ShopStore> {
  const pool = await openCheckedConnections(options, 'shop')
  return {
    ...keyReads(pool),
    ...keyWrites(pool),
    ...spendingWrites(pool),
    ...purchaseReads(pool),
    ...purchaseWrites(pool),
    ...settlementWrites(pool),
    ...shopSweepWrites(pool),
    close: () => pool.close(),
  }
}
