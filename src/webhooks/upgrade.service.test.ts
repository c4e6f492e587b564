import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, test } from 'vitest'
import { openPostgres, type Postgres } from '../../test/support/postgres.ts'
import { tempFolder } from '../../test/support/stores.ts'
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

// The last one without checked_id.
const OLD = 11
const oldSteps = (engine: 'sqlite' | 'postgres') => {
  const folder = new URL(`../store/${engine}/migrations/shop/`, import.meta.url)
  return readMigrations(folder).filter(({ number }) => number <= OLD)
}
const ROWS = `
  insert into shop.api_key (id, plan, label, max_requests, created_at) values ('k1', 'starter', '', 5, 0);
  insert into shop.webhook (id, key_id, url, created_at, last_id) values ('wh_1', 'k1', 'https://a.example/', 0, 7)`

/** Begins now, to the second: mail of before is not reported as missed. */
function assertBeginsNow(checkedId: number, before: number): void {
  const [least, most] = [before - 1_000, Date.now() + 1_000].map((ms) => idAt(new Date(ms)))
  assert.ok(checkedId >= (least ?? 0) && checkedId <= (most ?? 0), String(checkedId))
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
  await client.end()
  const before = Date.now()
  const store = await openPostgresShop({ url, connections: 1 })
  const webhook = await store.readWebhook('wh_1')
  assertBeginsNow(webhook?.checkedId ?? 0, before)
  assert.equal(webhook?.lastId, 7)
  await store.close()
})
