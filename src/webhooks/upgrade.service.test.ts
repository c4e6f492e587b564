import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgres, type Postgres } from '../../test/kit/store/postgres.ts'
import { tempFolder } from '../../test/kit/store/stores.ts'
import { idAt } from '../base/id.ts'
import { openPostgresShop } from '../store/postgres/shop-store.ts'
import { readMigrations } from '../store/schema.ts'
import { openWritable, SHOP_FILE } from '../store/sqlite/files.ts'
import { openMigrated } from '../store/sqlite/migrate.ts'

let postgres: Postgres
beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())

const NOW = new Date('2026-03-01T12:00:00Z')
// The last one without checked_id.
const OLD = 11
const oldSteps = (engine: 'sqlite' | 'postgres') =>
  readMigrations(engine, 'shop').filter(({ number }) => number <= OLD)
const ROWS = `
  insert into shop.api_key (id, plan, label, max_requests, created_at) values ('k1', 'starter', '', 5, 0);
  insert into shop.webhook (id, key_id, url, created_at, last_id) values ('wh_1', 'k1', 'https://a.example/', 0, 7)`

// As release 0.3 left them when they could not be charged, or while it runs beside this one.
const UNCHARGED = `
  insert into shop.webhook (id, key_id, url, created_at, last_id, checked_id, pending_id) values
    ('wh_2', 'k1', 'https://a.example/', 0, 7, 20, 9), ('wh_3', 'k1', 'https://a.example/', 0, 7, 20, 9)`

/** Begins now, to the second: mail of before is not reported as missed. */
function assertBeginsNow(checkedId: number, before: number): void {
  const [least, most] = [before - 1_000, Date.now() + 1_000].map((ms) => idAt(new Date(ms)))
  expect(checkedId >= (least ?? 0) && checkedId <= (most ?? 0), String(checkedId)).toBeTruthy()
}

test('a webhook of an earlier version is checked for gaps from the upgrade on: SQLite', () => {
  const folder = tempFolder()
  const steps = oldSteps('sqlite')
  const old = openWritable(join(folder.path, SHOP_FILE))
  for (const { sql } of steps) old.exec(sql)
  old.pragma(`user_version = ${steps.length}`)
  old.exec(ROWS.replaceAll('shop.', ''))
  old.close()
  const before = Date.now()
  const db = openMigrated(folder.path, 'shop')
  assertBeginsNow(Number(db.prepare('select checked_id from webhook').pluck().get()), before)
  db.close()
  folder.remove()
})

test('a webhook of an earlier version is checked for gaps from the upgrade on: PostgreSQL', async () => {
  const database = await postgres.database()
  const url = postgres.urlOf(database)
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query('create schema shop; create table shop.schema_version (version integer)')
  for (const { sql } of oldSteps('postgres')) await client.query(sql)
  await client.query(`insert into shop.schema_version values (${OLD}); ${ROWS}`)
  const before = Date.now()
  const store = await openPostgresShop({ url, connections: 1 })
  const webhook = await store.readWebhook('wh_1', new Date())
  assertBeginsNow(webhook?.checkedId ?? 0, before)
  expect(webhook?.lastId).toBe(7)
  await client.query(UNCHARGED)
  const gaps = async () => {
    for (const id of ['wh_2', 'wh_3']) await store.recordGap(id, 9, NOW)
    const webhooks = await store.listWebhooks('k1', NOW)
    return webhooks.map(({ checkedId, gapSince }) => [checkedId, gapSince])
  }
  expect((await store.readWebhook('wh_2', NOW))?.checkedId).toBe(8)
  const position = { replays: 0, changes: 0, sinceId: 0, lastId: 9, seenId: 20 }
  await store.moveCursor('wh_3', position)
  expect(await gaps()).toEqual([expect.anything(), [9, NOW], [20, undefined]])
  // Release 0.3 takes a pending message without a charge for one that is not charged yet.
  const charged = await store.readWebhook('wh_2', NOW)
  expect.assert(charged)
  await store.chargeMessage(charged, 21, NOW)
  await store.skipMessage('wh_2', 21, NOW)
  await client.query("update shop.webhook set pending_id = 9 where id = 'wh_3'")
  await store.replayWebhook('wh_3', 0)
  const { rows } = await client.query('select pending_id from shop.webhook')
  expect(rows.map((row) => row.pending_id)).toEqual([null, null, null])
  await client.end()
  await store.close()
})
