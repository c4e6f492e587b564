import { adminSessionReads, adminSessionWrites } from '../../admin/session-store.ts'
import { installationReads, installationWrites } from '../../keys/installation-store.ts'
import { keyReads, keyTransactions, keyWrites } from '../../keys/store.ts'
import { purchaseReads, purchaseWrites } from '../../shop/purchase-store.ts'
import { settlementTransactions } from '../../shop/settlement-store.ts'
import { webhookReads } from '../../webhooks/store-reads.ts'
import { webhookTransactions, webhookWrites } from '../../webhooks/store-writes.ts'
import { shopSweep } from '../shop/sweep.ts'
import type { ShopStore } from '../store.ts'
import { asyncMethods, transactionMethods } from './connection/operations.ts'
import {
  type CheckedConnectionOptions,
  openCheckedConnections,
} from './connection/server-requirements.ts'
import { spendingWrites } from './shop/spending.ts'

/** The shop of one thread. Keys are read for every request, so that a revoked one is refused at once. */
export async function openPostgresShop(options: CheckedConnectionOptions): Promise<ShopStore> {
  const connections = await openCheckedConnections(options, 'shop')
  const { findSecret, saveSecret, ...methods } = asyncMethods(connections, {
    ...adminSessionReads,
    ...adminSessionWrites,
    ...installationReads,
    ...installationWrites,
    ...keyReads,
    ...keyWrites,
    ...purchaseReads,
    ...purchaseWrites,
    ...shopSweep,
    ...webhookReads,
    ...webhookWrites,
  })
  return {
    ...methods,
    ...transactionMethods(connections, {
      ...keyTransactions,
      ...settlementTransactions,
      ...webhookTransactions,
    }),
    ...spendingWrites(connections),
    installationSecret: async (fresh) => (await findSecret()) ?? (await saveSecret(fresh)),
    close: () => connections.close(),
  }
}
