import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, test, vi } from 'vitest'
import { openPostgres, type Postgres } from '../../../test/support/postgres.ts'
import { reusedPostgresMail, reusedPostgresShop } from '../../../test/support/postgres-stores.ts'
import { waitUntil } from '../../../test/support/wait-until.ts'
import { accountsContract } from '../contract/accounts.contract.ts'
import { blocksContract } from '../contract/blocks.contract.ts'
import { codesContract } from '../contract/codes.contract.ts'
import { deferredContract } from '../contract/deferred.contract.ts'
import { address, COOLDOWN, DAY, HOUR, MINUTE, openFixture, START } from '../contract/fixture.ts'
import { keyMailContract } from '../contract/key-mail.contract.ts'
import { keyMailOrderContract } from '../contract/key-mail-order.contract.ts'
import { keyMailVersionContract } from '../contract/key-mail-version.contract.ts'
import { keysContract } from '../contract/keys.contract.ts'
import { leasesContract } from '../contract/leases.contract.ts'
import { ledgerContract } from '../contract/ledger.contract.ts'
import { HMAC, type OpenLedgerStore } from '../contract/ledger-fixture.ts'
import { messagesContract } from '../contract/messages.contract.ts'
import { operatorContract } from '../contract/operator.contract.ts'
import { purchasesContract } from '../contract/purchases.contract.ts'
import { recipientsContract } from '../contract/recipients.contract.ts'
import { rulesContract } from '../contract/rules.contract.ts'
import { seriesContract } from '../contract/series.contract.ts'
import { sessionsContract } from '../contract/sessions.contract.ts'
import { SHARE_LIMITS, sharesContract } from '../contract/shares.contract.ts'
import { shopMaintenanceContract } from '../contract/shop-maintenance.contract.ts'
import { unknownLedgerContract } from '../contract/unknown-ledger.contract.ts'
import { webhookChargesContract } from '../contract/webhook-charges.contract.ts'
import { webhooksContract } from '../contract/webhooks.contract.ts'
import { openPostgresLedger } from './ledger.ts'
import { openShares } from './testing/share-store.ts'

let postgres: Postgres

beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

async function openLedgers(open: ReturnType<typeof reusedPostgresMail>): Promise<OpenLedgerStore> {
  const opened = await openShares(postgres, open)
  const openOne = () => openPostgresLedger(opened.url)
  const ledgers = [await openOne(), await openOne()] as const
  return {
    ...opened,
    ledgers,
    async close() {
      for (const ledger of ledgers) await ledger.close()
      await opened.close()
    },
  }
}

// One describe each: a contract opens its store before every test of the describe it is called in.
describe('PostgreSQL', () => {
  const shops = reusedPostgresShop()
  const mails = reusedPostgresMail()
  const shares = reusedPostgresMail({ limits: SHARE_LIMITS })
  const openShop = () => shops(postgres)
  const open = () => mails(postgres)
  describe('sessions', () => sessionsContract(open))
  describe('messages', () => messagesContract(open))
  describe('codes', () => codesContract(open))
  describe('recipients', () => recipientsContract(open))
  describe('rules of an address', () => rulesContract(open))
  describe('shares', () => sharesContract(() => openShares(postgres, shares), 3))
  describe('accounts', () => accountsContract(open))
  describe('deferred mail', () => deferredContract(open))
  describe('ledger', () => ledgerContract(() => openLedgers(mails)))
  describe('unknown ledger', () => unknownLedgerContract(() => openLedgers(mails)))
  describe('leases', () => leasesContract(open))
  describe('operator', () => operatorContract(open))
  describe('series', () => seriesContract(open))
  describe('block list', () => blocksContract(open))
  test('a node of version 0.3 fails at the ledger, rather than take an address for a new one', async () => {
    const { query, close } = await openShares(postgres, mails)
    for (const sql of [
      `select exists (select 1 from mail.address_ledger where hash in ('a'))`,
      `insert into mail.address_ledger (hash) values ('a')`,
    ]) {
      await assert.rejects(query(sql), /column "hash" (of relation .*)?does not exist/)
    }
    await close()
  })
  test('a node that starts with the pool on while another prunes the ledger has the addresses of sessions', async () => {
    const opened = await openLedgers(mails)
    const { query, execute, ledgers, close } = opened
    const { session, due } = await openFixture(opened)
    const lifetimes = { sessionSeconds: 1, anonymousMaxSeconds: 1, maxSessionSeconds: 1 }
    const start = { now: START, lifetimes, cooldownMs: COOLDOWN, hmac: HMAC }
    await ledgers[0].prepareLedger({ ...start, poolOff: true })
    await session('ann@pool.test')
    const ann = HMAC.of(address('ann@pool.test'))
    const waits = async (count: number) =>
      (await query('select 1 from pg_locks where not granted')).length === count

    // The other node is about to delete the entry.
    await execute('begin')
    await execute(`select 1 from mail.address_ledger where hmac = '${ann}' for update`)
    const pruned = opened.other.sweep({ ...due(START), poolOff: true })
    await waitUntil(() => waits(1))
    const started = ledgers[0].prepareLedger({ ...start, poolOff: false })
    await Promise.race([started, waitUntil(() => waits(2))])
    await execute('commit')
    await Promise.all([pruned, started])
    assert.deepEqual(
      await query(`select pruned, hmac from mail.ledger_state
        left join mail.address_ledger on hmac = '${ann}'`),
      [{ pruned: false, hmac: ann }],
    )
    await close()
  })
  test('a node whose clock is 31 days ahead sweeps no series of today', async () => {
    const { store, close } = await open()
    const at = new Date(Math.floor(Date.now() / HOUR) * HOUR + MINUTE)
    await store.saveMinute({ at, node: 'one', counts: { mails: { stored: 1 } } })
    // Only in this process: the clock of the server is correct.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31 * DAY })
    await store.sweepSeries(new Date()).finally(() => vi.useRealTimers())
    const until = new Date(at.getTime() + DAY)
    const rows = await store.readSeries({ name: 'mails', from: new Date(0), until })
    assert.deepEqual(rows, [{ at: at.getTime(), counts: { stored: 1 } }])
    await close()
  })
  describe('mail visible to a key', () => keyMailContract(open))
  describe('version of the mail of a key', () => keyMailVersionContract(open, 2))
  describe('order of the mail of a key', () => keyMailOrderContract(open))
  describe('keys', () => keysContract(openShop))
  describe('purchases', () => purchasesContract(openShop))
  describe('shop maintenance', () => shopMaintenanceContract(openShop))
  describe('webhooks', () => webhooksContract(openShop))
  describe('charges of webhooks', () => webhookChargesContract(openShop))
})
