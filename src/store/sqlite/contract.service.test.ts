import { join } from 'node:path'
import { describe } from 'vitest'
import {
  openSqliteTestMail,
  openSqliteTestShop,
  startTestWriter,
} from '../../../test/kit/store/stores.ts'
import { storeContracts } from '../contract/contracts.ts'
import type { OpenLedgerStore } from '../contract/ledger-fixture.ts'
import { messagesContract } from '../contract/messages.contract.ts'
import { type OpenShareStore, SHARE_LIMITS } from '../contract/shares.contract.ts'
import { MAIL_FILE, openReadOnly, openWritable } from './files.ts'
import { openSqliteLedger } from './ledger.ts'

async function openShares(): Promise<OpenShareStore & { folder: string }> {
  const opened = await openSqliteTestMail(SHARE_LIMITS)
  const db = openReadOnly(join(opened.folder, MAIL_FILE))
  return {
    ...opened,
    query: async (sql) =>
      db.prepare<[], Record<string, unknown>>(sql.replaceAll('{mail}', '')).all(),
    async execute(sql) {
      const writable = openWritable(join(opened.folder, MAIL_FILE))
      writable.exec(sql.replaceAll('{mail}', ''))
      writable.close()
    },
    async close() {
      db.close()
      await opened.close()
    },
  }
}

async function openLedgers(): Promise<OpenLedgerStore> {
  const opened = await openShares()
  const ledgers = [openSqliteLedger(opened.folder), openSqliteLedger(opened.folder)] as const
  return {
    ...opened,
    ledgers,
    async close() {
      for (const ledger of ledgers) ledger.close()
      await opened.close()
    },
  }
}

describe('SQLite', () => {
  storeContracts({
    mail: openSqliteTestMail,
    shares: openShares,
    ledgers: openLedgers,
    shop: openSqliteTestShop,
    runs: 15,
  })
  describe('messages, with a writer thread', () =>
    messagesContract(() => openSqliteTestMail(undefined, startTestWriter)))
})
