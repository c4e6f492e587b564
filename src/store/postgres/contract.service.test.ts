import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  address,
  COOLDOWN,
  DAY,
  HOUR,
  MINUTE,
  openFixture,
  START,
} from '../../../test/kit/store/fixture.ts'
import { openPostgres, type Postgres } from '../../../test/kit/store/postgres.ts'
import { reusedPostgresMail, reusedPostgresShop } from '../../../test/kit/store/postgres-stores.ts'
import { waitUntil } from '../../../test/kit/wait-until.ts'
import { storeContracts } from '../contract/contracts.ts'
import { HMAC, type OpenLedgerStore } from '../contract/ledger-fixture.ts'
import { SHARE_LIMITS } from '../contract/shares.contract.ts'
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

describe('PostgreSQL', () => {
  const shops = reusedPostgresShop()
  const mails = reusedPostgresMail()
  const shares = reusedPostgresMail({ limits: SHARE_LIMITS })
  storeContracts({
    mail: () => mails(postgres),
    shares: () => openShares(postgres, shares),
    ledgers: () => openLedgers(mails),
    shop: () => shops(postgres),
    runs: 3,
  })
  test('a node of version 0.3 fails at the ledger, rather than take an address for a new one', async () => {
    const { query, close } = await openShares(postgres, mails)
    for (const sql of [
      `select exists (select 1 from mail.address_ledger where hash in ('a'))`,
      `insert into mail.address_ledger (hash) values ('a')`,
    ]) {
      await expect(query(sql)).rejects.toThrow(/column "hash" (of relation .*)?does not exist/)
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
    expect(
      await query(`select pruned, hmac from mail.ledger_state
        left join mail.address_ledger on hmac = '${ann}'`),
    ).toStrictEqual([{ pruned: false, hmac: ann }])
    await close()
  })
  test('a node whose clock is 31 days ahead sweeps no series of today', async () => {
    const { store, close } = await mails(postgres)
    const at = new Date(Math.floor(Date.now() / HOUR) * HOUR + MINUTE)
    await store.saveMinute({ at, node: 'one', counts: { mails: { stored: 1 } } })
    // Only in this process: the clock of the server is correct.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31 * DAY })
    const time = await Promise.resolve(store.clampTime(new Date())).finally(() =>
      vi.useRealTimers(),
    )
    await store.sweepSeries(time)
    const until = new Date(at.getTime() + DAY)
    const rows = await store.readSeries({ name: 'mails', from: new Date(0), until })
    expect(rows).toStrictEqual([{ at: at.getTime(), counts: { stored: 1 } }])
    await close()
  })
})
