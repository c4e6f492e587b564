import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LEDGER_KEY } from '../../../test/kit/store/address-ledger.ts'
import { tempFolder } from '../../../test/kit/store/stores.ts'
import { parseAddress, parseHost } from '../../base/address.ts'
import type { Session } from '../../mail/rules/session.ts'
import type { AddMailResult } from '../../mail/store.ts'
import { NewerSchema, OlderSchema, readMigrations } from '../schema.ts'
import { type Db, FolderInUse, lockFolder, MAIL_FILE, openReader, openWritable } from './files.ts'
import { openMailWriter } from './mail-store.ts'
import { makeVersions, openVersions } from './mailbox-cache.ts'
import { DamagedFile, openMigrated, schemaOf } from './migrate.ts'

let folder: ReturnType<typeof tempFolder>
beforeEach(() => {
  folder = tempFolder()
})
afterEach(() => folder.remove())
const open = () => openMigrated(folder.path, 'mail')
const file = () => join(folder.path, MAIL_FILE)

test('a folder is locked by one process, until it releases the lock', () => {
  const unlock = lockFolder(folder.path)
  expect(() => lockFolder(folder.path)).toThrow(FolderInUse)
  unlock()
  lockFolder(folder.path)()
})

test('every commit is synced: synchronous is FULL, and the journal is a write-ahead log', () => {
  const db = openWritable(file())
  expect([
    db.pragma('synchronous', { simple: true }),
    db.pragma('journal_mode', { simple: true }),
  ]).toStrictEqual([2, 'wal'])
  db.close()
})

test('connections of all threads together have small caches', () => {
  const writer = openWritable(file())
  const reader = openReader(file())
  const kb = [writer, reader].map((db) => -Number(db.pragma('cache_size', { simple: true })))
  expect(kb).toStrictEqual([8_000, 2_000])
  for (const db of [reader, writer]) db.close()
})

describe('migrations', () => {
  test('run once, even if two processes open the same file', () => {
    const [first, second] = [open(), open()]
    expect(second.prepare('select count(*) from shared_mailbox').pluck().get()).toBe(2)
    first.close()
    second.close()
  })

  test('refuse a schema newer than the program', () => {
    const db = openWritable(file())
    db.pragma('user_version = 42')
    db.close()
    expect(open).toThrow(NewerSchema)
  })

  // The first 13 of them are those of version 0.3: 0011 and 0015 are of the shop alone.
  function openCounted(count: number): Db {
    const db = openWritable(file())
    db.function('sender_network', { deterministic: true }, String)
    for (const { sql } of readMigrations('sqlite', 'mail').slice(0, count)) db.exec(sql)
    db.pragma(`user_version = ${count}`)
    return db
  }

  test.each([1, 10, 11, 13, 15])(
    'continue after the %d that an earlier version has counted',
    (count) => {
      openCounted(count).close()
      mkdirSync(join(folder.path, 'fresh'))
      const [db, fresh] = [open(), openMigrated(join(folder.path, 'fresh'), 'mail')]
      expect(schemaOf(db, 'mail')).toBe(schemaOf(fresh, 'mail'))
      const tables = (one: Db) =>
        one.prepare('select name, sql from sqlite_schema order by name').all()
      expect(tables(db)).toEqual(tables(fresh))
      for (const one of [db, fresh]) one.close()
    },
  )

  test('of a command are refused while a service has the folder locked', () => {
    const command = () => openMigrated(folder.path, 'mail', { besideService: true })
    const db = openCounted(13)
    const unlock = lockFolder(folder.path)
    expect(command).toThrow(OlderSchema)
    expect(schemaOf(db, 'mail')).toBe(14)
    db.close()
    unlock()
    const migrated = command()
    expect(schemaOf(migrated, 'mail')).toBe(readMigrations('sqlite', 'mail').at(-1)?.number)
    const unlockAgain = lockFolder(folder.path)
    command().close()
    unlockAgain()
    migrated.close()
  })

  test('a file that is not a database is refused and left unchanged', () => {
    writeFileSync(file(), 'not a database at all'.repeat(100))
    expect(open).toThrow(DamagedFile)
    // What can be recovered may lack addresses.
    expect(open).toThrow(/\.recover.*mayfly ledger distrust/)
    expect(readFileSync(file(), 'utf8')).toMatch(/^not a database/)
  })
})

test('the sweep returns free space to the disk in small steps, but for 32 MB that new mail uses first', () => {
  const db = open()
  const limits = {
    mailbox: { maxMessages: 1_000, maxBytes: 1e9 },
    poolMaxBytes: 1e9,
    ownMaxBytes: 1e9,
    maxMailBytes: 1e7,
  }
  const commit = openMailWriter(db, openVersions(makeVersions()), { limits, ledgerKey: LEDGER_KEY })
  const write = (name: string, ...value: unknown[]) => {
    const [outcome] = commit([{ name, value }])
    expect.assert(outcome && 'result' in outcome)
    return outcome.result
  }
  const [address, host] = [parseAddress('ann@box.test'), parseHost('box.test')]
  const now = new Date()
  const later = new Date(now.getTime() + 1_000)
  write('addDomain', { name: host, sessions: true, reader: false })
  const times = { createdAt: now, expiresAt: later, cooldownMs: 0, isRandom: true }
  const { id: mailbox } = write('createSession', { address, tokenHash: 'h', ...times }) as Session
  const send = (count: number) => {
    for (let sent = 0; sent < count; sent += 1) {
      const { outcome } = write('addMail', mail) as AddMailResult
      expect(outcome).toBe('stored')
    }
  }
  const raw = randomBytes(200_000)
  const head = { senderName: '', senderEmail: '', subject: '' }
  const envelope = { clientIp: '', helo: '', mailFrom: '', protocol: '' }
  const mail = { recipients: [{ address, mailbox }], envelope, head, receivedAt: now, raw }
  send(300)
  const size = () => {
    db.pragma('wal_checkpoint(TRUNCATE)')
    return statSync(file()).size
  }
  const full = size()
  expect(full).toBeGreaterThan(60_000_000)
  let steps = 0
  const due = {
    now: new Date(later.getTime() + 60_000),
    cooldownMs: 0,
    poolMs: 0,
    operatorMs: 0,
    mailLogMs: 0,
    ownMs: 0,
  }
  while (write('sweep', due)) steps += 1
  expect(steps, `in ${steps} steps`).toBeGreaterThan(100)
  const swept = size()
  expect(
    swept > 33_000_000 && swept < 34_500_000,
    `${swept} of ${full} bytes are left`,
  ).toBeTruthy()
  const renewed = { ...times, address: parseAddress('bob@box.test'), tokenHash: 'i' }
  const { id } = write('createSession', renewed) as Session
  mail.recipients = [{ address: renewed.address, mailbox: id }]
  send(150)
  expect(size(), 'the file does not grow').toBe(swept)
  db.close()
})
