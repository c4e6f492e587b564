import { methodsOf } from '../../base/operation.ts'
import { ledgerStarts } from '../operations.ts'
import { openMigrated } from './migrate.ts'
import { operationRunner } from './operations.ts'

/** Before the writer is started: mail.db has no other user that changes the ledger. */
export function openSqliteLedger(folder: string) {
  const db = openMigrated(folder, 'mail')
  // Entries are in no order: with the default cache, converting a large ledger would read and write the same pages again and again.
  db.pragma('cache_size = -200000')
  const run = operationRunner(db)
  return {
    ...methodsOf(ledgerStarts, (operation) => db.transaction(() => run(operation)).immediate()),
    serverTime: () => undefined,
    close: () => db.close(),
  }
}
