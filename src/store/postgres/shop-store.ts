import { shopReads, shopTransactions, shopWrites } from '../operations.ts'
import type { ShopStore } from '../store.ts'
import { asyncMethods, transactionMethods } from './connection/operations.ts'
import {
  type CheckedConnectionOptions,
  openCheckedConnections,
} from './connection/server-requirements.ts'
import { chargeWrites } from './shop/charging.ts'

/** The shop of one thread. Keys are read for every request, so that a revoked one is refused at once. */
export async function openPostgresShop(options: CheckedConnectionOptions): Promise<ShopStore> {
  const connections = await openCheckedConnections(options, 'shop')
  const { saveSecret, ...methods } = asyncMethods(connections, {
    ...shopReads,
    ...shopWrites,
  })
  return {
    ...methods,
    ...transactionMethods(connections, shopTransactions),
    ...chargeWrites(connections),
    installationSecret: async (fresh) => (await methods.findSecret()) ?? (await saveSecret(fresh)),
    close: () => connections.close(),
  }
}
