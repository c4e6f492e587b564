import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  bytesIn,
  inShop,
  issueIn,
  keyIds,
  NOON,
  shopFolder,
} from '../../../test/kit/store/shop-folder.ts'
import { FolderInUse, lockFolder, openWritable } from '../sqlite/files.ts'
import { openMigrated } from '../sqlite/migrate.ts'
import { BackupRefused } from './backup.ts'
import { restoreBackup } from './restore.ts'

let shop: ReturnType<typeof shopFolder>
beforeEach(() => {
  shop = shopFolder()
})
afterEach(() => shop.remove())

const restore = (source = shop.file, now = NOON) =>
  restoreBackup(shop.data, source, { now, tell: () => {} })

describe('a restore', () => {
  test('restores the data of the backup, and keeps the replaced database', async () => {
    const early = await shop.issue()
    shop.backup()
    const late = await shop.issue()
    const { previous, keys } = restore()
    expect(keys).toBe(1)
    expect(await keyIds(shop.data)).toEqual([early])
    expect(previous.shop).toBe(join(shop.data, 'shop.db.before-2026-03-01T12-00-00.000Z'))
    // The replaced database can be restored in the same way.
    restore(previous.shop, new Date(NOON.getTime() + 1))
    expect(await keyIds(shop.data)).toEqual([early, late].sort())
  })

  test('ends all sign-ins to the admin page', async () => {
    const expiresAt = new Date(NOON.getTime() + 1_000)
    await inShop(shop.data, (store) => store.addAdminSession({ hash: 'ended', expiresAt }))
    shop.backup()
    await inShop(shop.data, (store) => store.deleteAdminSession('ended'))
    restore()
    expect(await inShop(shop.data, (store) => store.hasAdminSession('ended', NOON))).toBe(false)
  })

  test('creates the folder if it does not exist', () => {
    shop.backup()
    const fresh = join(shop.path, 'fresh')
    const { previous } = restoreBackup(fresh, shop.file, { now: NOON, tell: () => {} })
    expect(previous.shop).toBeUndefined()
    expect(statSync(join(fresh, 'shop.db')).mode & 0o777).toBe(0o600)
  })

  test('makes a world-readable file readable only by its owner', () => {
    shop.backup()
    chmodSync(shop.file, 0o644)
    restore()
    expect(statSync(join(shop.data, 'shop.db')).mode & 0o777).toBe(0o600)
  })

  test('of an older schema migrates it', async () => {
    const old = openWritable(shop.file)
    const steps = new URL('../sqlite/migrations/shop/0001.sql', import.meta.url)
    old.exec(readFileSync(steps, 'utf8'))
    old.pragma('user_version = 1')
    old
      .prepare(
        `insert into api_key (id, plan, label, max_requests, created_at) values ('key_old', 'starter', '', 5, 0)`,
      )
      .run()
    old.pragma('journal_mode = DELETE')
    old.close()
    expect(restore()).toMatchObject({ keys: 1, orders: 0 })
    expect(await keyIds(shop.data)).toEqual(['key_old'])
  })

  test('ignores a stale write-ahead log', async () => {
    const early = await shop.issue()
    shop.backup()
    const log = await staleLog()
    writeFileSync(join(shop.data, 'shop.db-wal'), log)
    const { previous } = restore()
    expect(await keyIds(shop.data)).toEqual([early])
    expect(existsSync(`${previous.shop}-shm`)).toBe(false)
  })

  test('ignores a write-ahead log without a database', async () => {
    const early = await shop.issue()
    shop.backup()
    const withoutDb = join(shop.path, 'lost')
    mkdirSync(withoutDb)
    writeFileSync(join(withoutDb, 'shop.db-wal'), await staleLog())
    const { previous } = restoreBackup(withoutDb, shop.file, { now: NOON, tell: () => {} })
    expect(previous.shop).toBeUndefined()
    expect(await keyIds(withoutDb)).toEqual([early])
  })

  test('sets a damaged shop aside unchanged, with its log', async () => {
    const early = await shop.issue()
    shop.backup()
    writeFileSync(join(shop.data, 'shop.db'), 'garbage '.repeat(2_000))
    writeFileSync(join(shop.data, 'shop.db-wal'), 'its log')
    const { previous } = restore()
    expect(readFileSync(previous.shop ?? '', 'utf8')).toMatch(/^garbage /)
    expect(readFileSync(`${previous.shop}-wal`, 'utf8')).toBe('its log')
    expect(await keyIds(shop.data)).toEqual([early])
  })

  /** What a killed process leaves behind: a log with a key that is not in the database. */
  async function staleLog(): Promise<Buffer> {
    return await inShop(shop.data, async (store) => {
      await issueIn(store)
      return readFileSync(join(shop.data, 'shop.db-wal'))
    })
  }
})

describe('a restore changes nothing', () => {
  test('while a service has the folder locked', async () => {
    await shop.issue()
    shop.backup()
    const before = bytesIn(shop.data)
    const unlock = lockFolder(shop.data)
    expect(() => restore()).toThrow(FolderInUse)
    unlock()
    expect(bytesIn(shop.data)).toEqual(before)
  })

  test('while another command has the shop open', async () => {
    shop.backup()
    await inShop(shop.data, async () => {
      expect(() => restore()).toThrow(/in use by another command/)
    })
    expect(readdirSync(shop.data).filter((name) => name.includes('before'))).toEqual([])
    expect(restore().previous.shop).toBeDefined()
  })

  const truncate = (bytes: number) => () =>
    truncateSync(shop.file, statSync(shop.file).size - bytes)
  const sql = (text: string) => () => {
    const db = openWritable(shop.file)
    db.exec(text)
    db.pragma('journal_mode = DELETE')
    db.close()
  }
  for (const [name, damage] of [
    ['an empty file', () => writeFileSync(shop.file, '')],
    ['garbage', () => writeFileSync(shop.file, randomBytes(50_000))],
    ['a text file', () => writeFileSync(shop.file, 'SQLite format 3\0 it is not')],
    ['a file without its last byte', truncate(1)],
    ['a file without its last page', truncate(4096)],
    ['half a file', () => truncateSync(shop.file, 4096 * 5)],
    ['a file with trailing data', () => writeFileSync(shop.file, 'x', { flag: 'a' })],
    ['a file with an overwritten page', () => overwrite(4096 * 3, 4096)],
    ['mail.db', () => mailDb()],
    ['a database without tables', () => emptyDb()],
    ['a shop without keys', sql('drop table key_secret; drop table api_key')],
    ['a shop without one of its columns', sql('alter table api_key drop column label')],
    ['a shop with a trigger', sql(TRIGGER)],
    ['a shop with secrets without a key', sql(ORPHANED)],
    ['a shop of a newer program', sql('pragma user_version = 99')],
    ['a file with a log beside it', () => writeFileSync(`${shop.file}-wal`, 'log')],
    ['a folder', () => replaceByFolder()],
    ['a missing file', () => removeFile()],
  ] as const) {
    test(`from ${name}`, async () => {
      await shop.issue()
      shop.backup()
      damage()
      const before = bytesIn(shop.data)
      expect(() => restore()).toThrow(BackupRefused)
      expect(bytesIn(shop.data)).toEqual(before)
    })
  }

  for (const [name, damage, message] of [
    ['mail.db', () => mailDb(), /is not a mayfly shop/],
    ['another program’s file', () => otherDb(), /is not a mayfly shop/],
    ['a database without tables', () => emptyDb(), /is not a mayfly shop/],
    ['a shop of a newer program', sql('pragma user_version = 99'), /created by a newer version/],
    [
      'a shop without one of its columns',
      sql('alter table api_key drop column label'),
      /damaged or incomplete/,
    ],
  ] as const) {
    test(`and from ${name} fails with: ${message.source}`, () => {
      shop.backup()
      damage()
      expect(() => restore()).toThrow(message)
    })
  }

  function overwrite(from: number, length: number): void {
    const bytes = readFileSync(shop.file)
    writeFileSync(shop.file, bytes.fill(0xa5, from, from + length))
  }

  function mailDb(): void {
    const folder = join(shop.path, 'mail')
    mkdirSync(folder)
    const db = openMigrated(folder, 'mail')
    db.pragma('journal_mode = DELETE')
    db.close()
    copyFileSync(join(folder, 'mail.db'), shop.file)
  }

  function otherDb(): void {
    removeFile()
    const db = openWritable(shop.file)
    db.exec('create table bookmark (url text); pragma user_version = 7')
    db.pragma('journal_mode = DELETE')
    db.close()
  }

  function emptyDb(): void {
    removeFile()
    const db = openWritable(shop.file)
    db.exec('create table a (b); drop table a')
    db.pragma('journal_mode = DELETE')
    db.close()
  }

  function replaceByFolder(): void {
    removeFile()
    mkdirSync(shop.file)
  }

  function removeFile(): void {
    rmSync(shop.file)
  }
})

const TRIGGER = 'create trigger gift after insert on api_key begin update api_key set used = 0; end'
const ORPHANED = `pragma foreign_keys = OFF; insert into key_secret (hash, key_id) values ('h', 'key_x')`
