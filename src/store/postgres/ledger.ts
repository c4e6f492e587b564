import { ledgerStarts } from '../operations.ts'
import { transactionMethods } from './connection/operations.ts'
import { openCheckedConnections } from './connection/server-requirements.ts'
import { NOW } from './mail/leases.ts'
import type { MigrateOptions } from './migrate.ts'

// A node may have to wait until another one has converted a large ledger.
const STATEMENT_MS = 3_600_000

/** Before the mail store is opened. */
export async function openPostgresLedger(url: string, { onWait }: MigrateOptions = {}) {
  const options = { url, connections: 1, statementMs: STATEMENT_MS, onWait }
  const connections = await openCheckedConnections(options, 'mail')
  return {
    ...transactionMethods(connections, ledgerStarts),
    async serverTime(): Promise<Date> {
      const [row] = await connections.query<{ now: number }>(`select ${NOW} as now`)
      return new Date(row?.now ?? 0)
    },
    close: () => connections.close(),
  }
}
