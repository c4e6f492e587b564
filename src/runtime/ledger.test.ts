import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { issueIn } from '../../test/kit/store/shop-folder.ts'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { openSqliteLedger } from '../store/sqlite/ledger.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'
import { type Config, readConfig } from './config.ts'
import { openLedger } from './ledger.ts'
import { openMailStoreForCli, openShopStoreForCli } from './stores.ts'

// How a start tells a new installation from one that has lost something. What follows from it: ledger.contract.ts.

const NOW = new Date('2026-03-01T12:00:00Z')
let folder: ReturnType<typeof tempFolder>
let config: Config
beforeEach(() => {
  folder = tempFolder()
  config = readConfig({ env: { MAYFLY_DATA: folder.path }, file: {} }).config
})
afterEach(() => folder.remove())

/** As a start of the service does it. Returns the reason why the ledger is unknown, and the warnings in the log. */
async function start(): Promise<[string | undefined, number]> {
  const shop = await openShopStoreForCli(config)
  const warnings: string[] = []
  const log = {
    debug() {},
    info() {},
    error() {},
    warn: (_: object, text: string) => void warnings.push(text),
  }
  await openLedger(config, { shop, now: NOW, log }).finally(() => shop.close())
  const store = await openMailStoreForCli(config)
  const state = await store.readLedger().finally(() => store.close())
  return [state?.unknownUntil && state.reason, warnings.length]
}

const inShop = async (
  operation: (shop: Awaited<ReturnType<typeof openShopStoreForCli>>) => Promise<unknown>,
) => {
  const shop = await openShopStoreForCli(config)
  await operation(shop).finally(() => shop.close())
}
const addEntry = () => {
  const db = openMigrated(folder.path, 'mail')
  db.exec(`insert into address_ledger values ('${'x'.repeat(22)}')`)
  db.close()
}
const remove = (name: string) => {
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder.path, name + end), { force: true })
}

test('a new installation knows its ledger, at this and the next start', async () => {
  expect([await start(), await start()]).toEqual([
    [undefined, 0],
    [undefined, 0],
  ])
})

test.each([
  ['keys', () => inShop(issueIn)],
  ['a domain', async () => (await openMailStoreForCli(config)).close()],
  // It ended before the secret was stored.
  [
    'an interrupted first start',
    async () => {
      const ledger = openSqliteLedger(folder.path)
      ledger.beginLedger({ now: NOW, lifetimes: config.sessions, cooldownMs: 0, isNew: true })
      ledger.close()
    },
  ],
])('so does one that was prepared with %s', async (_name, prepare) => {
  await prepare()
  expect(await start()).toEqual([undefined, 0])
})

test.each([
  ['lost', 'mail.db is missing', async () => remove('mail.db')],
  [
    'lost',
    'mail.db is missing, and a command made a new one',
    async () => {
      remove('mail.db')
      await (await openMailStoreForCli(config)).close()
    },
  ],
  ['secret', 'shop.db is missing', async () => remove('shop.db')],
  [
    'secret',
    'shop.db is of another installation',
    async () => {
      remove('shop.db')
      await inShop((shop) => shop.installationSecret(new Uint8Array(32)))
    },
  ],
])('the ledger is unknown (%s) if %s', async (reason, _name, lose) => {
  await start()
  addEntry()
  await lose()
  expect(await start()).toEqual([reason, 1])
  expect(await start(), 'and at the next start').toEqual([reason, 1])
})

test('a lost ledger is unknown for as long after the newest time in the shop, if the clock is behind', async () => {
  const day = 86_400_000
  await start()
  const db = openMigrated(folder.path, 'shop')
  db.exec(`insert into usage_day values ('key', ${NOW.getTime() / day + 99.5}, 1)`)
  db.close()
  remove('mail.db')
  await start()
  const store = await openMailStoreForCli(config)
  const state = await store.readLedger().finally(() => store.close())
  expect(state?.unknownUntil).toEqual(new Date(NOW.getTime() + (99.5 + 60) * day))
})

test('mail.db is missing beside a shop of version 0.3 without a secret, whose keys were never used', async () => {
  const db = openMigrated(folder.path, 'shop', { upTo: 15 })
  db.exec(
    `insert into api_key (id, plan, label, max_requests, created_at) values ('key', 'starter', '', 5, 0)`,
  )
  db.close()
  expect(await start()).toEqual(['lost', 1])
})

test('mail.db is missing beside a shop of an earlier version without a secret, whose keys were used', async () => {
  await inShop(issueIn)
  const db = openMigrated(folder.path, 'shop')
  db.exec(`insert into usage_day values ('key', 1, 1)`)
  db.close()
  expect(await start()).toEqual(['lost', 1])
})
