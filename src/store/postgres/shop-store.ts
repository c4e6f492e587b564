import type { ShopStore } from '../shop-store.ts'
import {
  type CheckedConnectionOptions,
  openCheckedConnections,
} from './connection/server-requirements.ts'
import { keyReads, keyWrites } from './shop/keys.ts'
import { purchaseReads, purchaseWrites } from './shop/purchases.ts'
import { settlementWrites } from './shop/settlements.ts'
import { spendingWrites } from './shop/spending.ts'
import { shopSweepWrites } from './shop/sweep.ts'

/** The shop of one thread. Keys are read for every request, so that a revoked one is refused at once. */
export async function openPostgresShop(options: CheckedConnectionOptions): Promise<ShopStore> {
  const connections = await openCheckedConnections(options, 'shop')
  return {
    ...keyReads(connections),
    ...keyWrites(connections),
    ...spendingWrites(connections),
    ...purchaseReads(connections),
    ...purchaseWrites(connections),
    ...settlementWrites(connections),
    ...shopSweepWrites(connections),
    close: () => connections.close(),
  }
}
