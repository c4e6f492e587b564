import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { bytesIn, inShop, issueIn, shopFolder } from '../../../test/kit/store/shop-folder.ts'
import { openWritable } from '../sqlite/files.ts'
import { BackupRefused, writeBackup } from './backup.ts'

let shop: ReturnType<typeof shopFolder>
beforeEach(() => {
  shop = shopFolder()
})
afterEach(() => shop.remove())

describe('a backup', () => {
  test('contains all committed data, reports its size, and is readable only by its owner', async () => {
    const keyId = await shop.issue()
    const progress: string[] = []
    const options = { force: false, tell: (text: string) => void progress.push(text) }
    expect(writeBackup(shop.data, shop.file, options)).toEqual({
      keys: 1,
      orders: 0,
      blocks: 0,
      addresses: 0,
      bytes: statSync(shop.file).size,
    })
    expect(progress).toEqual([
      expect.stringMatching(/^Copying shop\.db, \d+ kB …$/),
      'Copying from mail.db …',
      expect.stringMatching(/^Checking the copy, \d+ kB …$/),
    ])
    expect(statSync(shop.file).mode & 0o777).toBe(0o600)
    const db = openWritable(shop.file)
    expect(db.prepare('select id from api_key').pluck().all()).toEqual([keyId])
    db.close()
  })

  test('includes data that is only in the write-ahead log of an open writer', async () => {
    await inShop(shop.data, async (store) => {
      await issueIn(store)
      expect(statSync(join(shop.data, 'shop.db-wal')).size).toBeGreaterThan(0)
      expect(shop.backup().keys).toBe(1)
    })
  })

  test('is a single file', () => {
    shop.backup()
    expect(readdirSync(shop.path).sort()).toEqual(['backup.db', 'data'])
  })

  test('replaces a file only with force', async () => {
    writeFileSync(shop.file, 'precious')
    expect(() => shop.backup()).toThrow(/exists\. Use --force/)
    expect(readFileSync(shop.file, 'utf8')).toBe('precious')
    await shop.issue()
    expect(shop.backup(shop.file, true).keys).toBe(1)
    expect(readFileSync(shop.file).subarray(0, 15).toString()).toBe('SQLite format 3')
  })

  test('is never written into the data folder', () => {
    const before = bytesIn(shop.data)
    symlinkSync(shop.data, join(shop.path, 'link'))
    for (const target of [
      join(shop.data, 'shop.db'),
      join(shop.data, 'shop.db-wal'),
      join(shop.data, 'mine.db'),
      join(shop.path, 'link', 'shop.db'),
    ]) {
      expect(() => shop.backup(target, true)).toThrow(BackupRefused)
    }
    expect(bytesIn(shop.data)).toEqual(before)
  })

  test('notes its time in a new file: what another user has put in its place is not written to', () => {
    const other = join(shop.path, 'other')
    writeFileSync(other, 'precious')
    symlinkSync(other, join(shop.data, 'last-backup'))
    shop.backup()
    expect(readFileSync(other, 'utf8')).toBe('precious')
    expect(readFileSync(join(shop.data, 'last-backup'), 'utf8')).toBe(`${shop.file}\n`)
    expect(readdirSync(shop.data).filter((name) => name.startsWith('.'))).toEqual([])
  })

  test('of a missing shop or to a folder is refused', () => {
    mkdirSync(shop.file)
    expect(() => shop.backup(shop.file, true)).toThrow(/is not a regular file/)
    const missing = join(shop.path, 'nowhere')
    expect(() => writeBackup(missing, `${shop.file}2`, { force: false, tell: () => {} })).toThrow(
      /There is no/,
    )
    expect(existsSync(missing)).toBe(false)
  })

  test('of a damaged shop is refused, and leaves no file', async () => {
    await shop.issue()
    const bytes = readFileSync(join(shop.data, 'shop.db'))
    writeFileSync(join(shop.data, 'shop.db'), bytes.fill(0xa5, 4096))
    expect(() => shop.backup()).toThrow(BackupRefused)
    expect(readdirSync(shop.path)).toEqual(['data'])
  })
})
