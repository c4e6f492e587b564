import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tempFolder } from '../../../test/support/stores.ts'
import { latestSchema, openMigrated } from './migrate.ts'
import { openMoveSource } from './move-source.ts'

let scratch: ReturnType<typeof tempFolder>
beforeEach(() => {
  scratch = tempFolder()
  for (const kind of ['mail', 'shop'] as const) openMigrated(scratch.path, kind).close()
})
afterEach(() => scratch.remove())

function change(kind: string, sql: string): void {
  const db = new Database(join(scratch.path, `${kind}.db`))
  db.exec(sql)
  db.close()
}

function printOf(): string {
  const source = openMoveSource(scratch.path)
  source.close()
  return source.print
}

test('a folder that is not there is not made', () => {
  const folder = join(scratch.path, 'none')
  expect(() => openMoveSource(folder)).toThrow(`There is no mail.db in ${folder}`)
  expect(existsSync(folder)).toBe(false)
})

test('an older schema is told, and left as it is', () => {
  change('mail', 'pragma user_version = 3')
  const before = readFileSync(join(scratch.path, 'mail.db'))
  const known = latestSchema('mail')
  expect(() => openMoveSource(scratch.path)).toThrow(
    `mail.db has schema 3, this program moves ${known}.`,
  )
  expect(readFileSync(join(scratch.path, 'mail.db'))).toEqual(before)
})

test('a newer schema is told', () => {
  change('shop', 'pragma user_version = 99')
  expect(() => openMoveSource(scratch.path)).toThrow('shop.db has schema 99')
})

test('a damaged file is told', () => {
  writeFileSync(join(scratch.path, 'shop.db'), 'no database at all, but long enough'.repeat(9))
  expect(() => openMoveSource(scratch.path)).toThrow('shop.db is damaged')
})

test('one moves it at a time', () => {
  const source = openMoveSource(scratch.path)
  expect(() => openMoveSource(scratch.path)).toThrow('or moves it already')
  source.close()
  openMoveSource(scratch.path).close()
})

test('what is written beside it meanwhile is not seen, and changes the print', () => {
  const source = openMoveSource(scratch.path)
  change('mail', `insert into address_ledger values ('late')`)
  expect([...source.batches('mail.address_ledger')]).toEqual([])
  source.close()
  expect(printOf()).not.toBe(source.print)
})

test('the print stays as long as nothing changes', () => {
  expect(printOf()).toBe(printOf())
})

test('batches go on after a key, and end', () => {
  change(
    'mail',
    `with recursive n (i) as (select 1 union all select i + 1 from n where i < 1203)
     insert into address_ledger select printf('%05d', i) from n`,
  )
  const source = openMoveSource(scratch.path)
  const sizes = (after?: string[]) =>
    [...source.batches('mail.address_ledger', after ? { after } : {})].map(
      ({ rows }) => rows.length,
    )
  expect(sizes()).toEqual([500, 500, 203])
  expect(sizes(['01100'])).toEqual([103])
  source.close()
})

test('a table with a key of several columns goes in its order, each row once', () => {
  change(
    'mail',
    `with recursive n (i) as (select 0 union all select i + 1 from n where i < 1099)
     insert into gmail_folder select i % 3, 'f' || (i / 3), 1, i from n`,
  )
  const source = openMoveSource(scratch.path)
  const uids = [...source.batches('mail.gmail_folder')].flatMap(({ rows }) =>
    rows.map((row) => row['last_uid']),
  )
  expect(new Set(uids).size).toBe(1_100)
  expect(uids.length).toBe(1_100)
  source.close()
})
