import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { rawIdOf } from '../postgres/mail/partition-key.ts'
import { latestSchema, readMigrations } from '../schema.ts'
import { openMigrated } from '../sqlite/migrate.ts'
import { openMoveSource } from './source.ts'

let scratch: ReturnType<typeof tempFolder>
beforeEach(() => {
  scratch = tempFolder()
  for (const kind of ['mail', 'shop'] as const) openMigrated(scratch.path, kind).close()
})
afterEach(() => scratch.remove())

const open = (folder = scratch.path) =>
  openMoveSource(folder, { now: new Date(), poolMs: 1, operatorMs: 1 })

function change(kind: string, sql: string): void {
  const db = new Database(join(scratch.path, `${kind}.db`))
  db.exec(sql)
  db.close()
}

test('a missing folder is an error and is not created', () => {
  const folder = join(scratch.path, 'none')
  expect(() => open(folder)).toThrow(`There is no mail.db in ${folder}`)
  expect(existsSync(folder)).toBe(false)
})

test('an older schema is refused and not migrated', () => {
  change('mail', 'pragma user_version = 3')
  const before = readFileSync(join(scratch.path, 'mail.db'))
  const latest = latestSchema(readMigrations('sqlite', 'mail'))
  expect(() => open()).toThrow(`mail.db has schema 3, but schema ${latest} is required.`)
  expect(readFileSync(join(scratch.path, 'mail.db'))).toEqual(before)
})

test('a newer schema is refused', () => {
  change('shop', 'pragma user_version = 99')
  expect(() => open()).toThrow('shop.db has schema 99')
})

test('a damaged file is refused', () => {
  writeFileSync(join(scratch.path, 'shop.db'), 'no database at all, but long enough'.repeat(9))
  expect(() => open()).toThrow('shop.db is damaged')
})

test('a folder is moved by one process at a time', () => {
  const source = open()
  expect(() => open()).toThrow('in use by a service or another move')
  source.close()
  open().close()
})

test('rows written after the start of the move are not read', () => {
  const source = open()
  change('mail', `insert into address_ledger values ('late')`)
  const ledger = source.tables.find(({ name }) => name === 'mail.address_ledger')
  expect([...(ledger?.read() ?? [])]).toEqual([])
  source.close()
})

test('a mail is copied once to each partition, with the number of its messages in it', () => {
  const day = 86_400_000
  const now = new Date('2026-03-01T12:00:00Z')
  const expires = (days: number) => now.getTime() + days * day
  change(
    'mail',
    `insert into session (id, address, token_hash, created_at, expires_at) values
       (101, 'a@box.test', 'a', 0, ${expires(2)}), (102, 'b@box.test', 'b', 0, ${expires(2)}),
       (103, 'c@box.test', 'c', 0, ${expires(5)}), (104, 'd@box.test', 'd', 0, ${expires(-9)});
     insert into raw_mail (id, refs, client_ip, helo, mail_from, protocol, received_at)
       values (77, 5, '', '', '', 'SMTP', 0);
     insert into raw_bytes values (77, x'00ff');
     insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject,
       received_at, size)
     select mailbox.value, 5, 77, '', '', '', '', ${now.getTime()}, 1
       from json_each('[1, 101, 102, 103, 104]') as mailbox`,
  )
  const source = openMoveSource(scratch.path, { now, poolMs: day, operatorMs: day })
  const today = Math.floor(now.getTime() / day)
  const read = (table: string, columns: string[]) =>
    [...(source.tables.find(({ name }) => name === table)?.read() ?? [])].map((row) =>
      columns.map((column) => row[column]),
    )
  expect(read('mail.raw_mail', ['bucket', 'refs', 'serial'])).toEqual([
    [today, 1, 0],
    [today + 1, 1, 0],
    [today + 2, 2, 0],
    [today + 5, 1, 0],
  ])
  expect(read('mail.message', ['mailbox', 'raw_id'])).toEqual([
    [1, rawIdOf(today + 1, 0)],
    [101, rawIdOf(today + 2, 0)],
    [102, rawIdOf(today + 2, 0)],
    [103, rawIdOf(today + 5, 0)],
    [104, rawIdOf(today, 0)],
  ])
  source.close()
})
