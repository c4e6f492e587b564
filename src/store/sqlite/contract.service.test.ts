import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import {
  openSqliteTestMail,
  openSqliteTestShop,
  startTestWriter,
} from '../../../test/support/stores.ts'
import { accountsContract } from '../contract/accounts.contract.ts'
import { blocksContract } from '../contract/blocks.contract.ts'
import { codesContract } from '../contract/codes.contract.ts'
import { deferredContract } from '../contract/deferred.contract.ts'
import { at, DAY, HOUR, START } from '../contract/fixture.ts'
import { keysContract } from '../contract/keys.contract.ts'
import { leasesContract } from '../contract/leases.contract.ts'
import { ledgerContract } from '../contract/ledger.contract.ts'
import type { OpenLedgerStore } from '../contract/ledger-fixture.ts'
import { messagesContract } from '../contract/messages.contract.ts'
import { operatorContract } from '../contract/operator.contract.ts'
import { purchasesContract } from '../contract/purchases.contract.ts'
import { recipientsContract } from '../contract/recipients.contract.ts'
import { rulesContract } from '../contract/rules.contract.ts'
import { seriesContract } from '../contract/series.contract.ts'
import { sessionsContract } from '../contract/sessions.contract.ts'
import { type OpenShareStore, SHARE_LIMITS, sharesContract } from '../contract/shares.contract.ts'
import { shopMaintenanceContract } from '../contract/shop-maintenance.contract.ts'
import { unknownLedgerContract } from '../contract/unknown-ledger.contract.ts'
import { webhookChargesContract } from '../contract/webhook-charges.contract.ts'
import { webhooksContract } from '../contract/webhooks.contract.ts'
import { MAIL_FILE, openReadOnly, openWritable } from './files.ts'
import { openSqliteLedger } from './ledger.ts'

async function openShares(): Promise<OpenShareStore & { folder: string }> {
  const opened = await openSqliteTestMail(SHARE_LIMITS)
  const db = openReadOnly(join(opened.folder, MAIL_FILE))
  return {
    ...opened,
    query: async (sql) =>
      db
        .prepare<[], Record<string, unknown>>(
          sql.replaceAll('{mail}', '').replaceAll('{there}', 'true'),
        )
        .all(),
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

// One describe each: a contract opens its store before every test of the describe it is called in.
describe('SQLite', () => {
  describe('sessions', () => sessionsContract(openSqliteTestMail))
  describe('messages, with a writer thread', () =>
    messagesContract(() => openSqliteTestMail(undefined, startTestWriter)))
  describe('codes', () => codesContract(openSqliteTestMail))
  describe('recipients', () => recipientsContract(openSqliteTestMail))
  describe('rules of an address', () => rulesContract(openSqliteTestMail))
  describe('shares', () => sharesContract(openShares, 15))
  describe('accounts', () => accountsContract(openSqliteTestMail))
  describe('deferred mail', () => deferredContract(openSqliteTestMail))
  describe('ledger', () => ledgerContract(openLedgers))
  describe('unknown ledger', () => unknownLedgerContract(openLedgers))
  describe('leases', () => leasesContract(openSqliteTestMail))
  describe('operator', () => operatorContract(openSqliteTestMail))
  describe('series', () => seriesContract(openSqliteTestMail))
  test('a series that this version does not have is swept after 30 days', async () => {
    const { store, folder, close } = await openSqliteTestMail()
    const db = openWritable(join(folder, MAIL_FILE))
    db.prepare("insert into series values ('former', 60, ?, '', '{}')").run(START.getTime())
    const left = () => db.prepare('select count(*) from series').pluck().get()
    await store.sweepSeries(at(30 * DAY))
    assert.equal(left(), 1)
    await store.sweepSeries(at(30 * DAY + HOUR))
    assert.equal(left(), 0)
    db.close()
    await close()
  })
  describe('block list', () => blocksContract(openSqliteTestMail))
  describe('keys', () => keysContract(openSqliteTestShop))
  describe('purchases', () => purchasesContract(openSqliteTestShop))
  describe('shop maintenance', () => shopMaintenanceContract(openSqliteTestShop))
  describe('webhooks', () => webhooksContract(openSqliteTestShop))
  describe('charges of webhooks', () => webhookChargesContract(openSqliteTestShop))
})
