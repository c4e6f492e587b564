import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { inShop, NOON, shopFolder } from '../../../test/kit/store/shop-folder.ts'
import { openWritable } from '../sqlite/files.ts'
import { backUpTo, hasBackupOfDay, writeDatedBackup } from './dated.ts'
import { restoreBackup } from './restore.ts'

let shop: ReturnType<typeof shopFolder>
let folder: string
beforeEach(async () => {
  shop = shopFolder()
  folder = join(shop.path, 'backups')
  mkdirSync(folder)
  await giveSecret(shop.data, 1)
})
afterEach(() => shop.remove())

const giveSecret = (data: string, byte: number) =>
  inShop(data, (store) => store.installationSecret(Buffer.alloc(32, byte)))
const daysLater = (days: number) => new Date(NOON.getTime() + days * 86_400_000)
const write = (days = 0, keep: number | undefined = undefined, data = shop.data) =>
  writeDatedBackup(data, folder, { keep, now: daysLater(days), tell() {} })
const nameOf = (days: number) => `mayfly-${daysLater(days).toISOString().replaceAll(':', '-')}.db`
const names = () => readdirSync(folder).sort()

describe('a folder of backups', () => {
  test('has a private file for each, named after its time in UTC', async () => {
    await shop.issue()
    const { file, keys, deleted } = write()
    expect(file).toBe(join(folder, 'mayfly-2026-03-01T12-00-00.000Z.db'))
    expect([keys, deleted, statSync(file).mode & 0o777]).toEqual([1, [], 0o600])
    write(1)
    expect(names()).toEqual([nameOf(0), nameOf(1)])
  })

  test('has one for each of two commands at the same moment', () => {
    write()
    expect(basename(write().file)).toBe('mayfly-2026-03-01T12-00-00.001Z.db')
  })

  test('keeps those of shops that no service has used: nothing tells them apart', async () => {
    const unused = shopFolder()
    await unused.issue()
    for (const day of [0, 1]) write(day, 1, unused.data)
    unused.remove()
    expect(names()).toEqual([nameOf(0), nameOf(1)])
  })

  test('keeps the newest, and each of them can be restored', () => {
    for (const day of [0, 1, 2]) write(day)
    expect(write(3, 2).deleted.map((path) => basename(path))).toEqual([nameOf(0), nameOf(1)])
    expect(names()).toEqual([nameOf(2), nameOf(3)])
    for (const name of names()) {
      const options = { now: NOON, tell() {} }
      restoreBackup(join(shop.path, name), join(folder, name), options)
    }
  })

  test('keeps the one that was just written', () => {
    write()
    write(1, 1)
    expect(names()).toEqual([nameOf(1)])
  })

  test('loses nothing to two commands that delete at once, or to a clock that went back', () => {
    write(1, 1)
    expect(write(0, 1).deleted).toEqual([])
    expect(names()).toEqual([nameOf(0), nameOf(1)])
  })

  test('loses nothing to a backup that fails', () => {
    write()
    const bytes = readFileSync(join(shop.data, 'shop.db'))
    writeFileSync(join(shop.data, 'shop.db'), bytes.fill(0xa5, 4096))
    expect(() => write(1, 1)).toThrow(/damaged/)
    expect(names()).toEqual([nameOf(0)])
  })

  test.each([
    ['of another name', () => writeFileSync(join(folder, 'mayfly.db'), 'mine')],
    ['in a folder of that name', () => mkdirSync(join(folder, nameOf(-2)))],
    ['behind a link', () => symlinkSync(shop.file, join(folder, nameOf(-2)))],
    ['of another program', () => writeFileSync(join(folder, nameOf(-2)), 'x'.repeat(200))],
    ['that is incomplete', () => truncateSync(write(-2).file, 8_192)],
    [
      'of another installation',
      async () => {
        const other = shopFolder()
        await giveSecret(other.data, 2)
        write(-2, undefined, other.data)
        other.remove()
      },
    ],
    [
      'without the secret of one',
      () => {
        const db = openWritable(write(-2).file)
        db.exec('delete from installation')
        db.pragma('journal_mode = DELETE')
        db.close()
      },
    ],
  ])('keeps a file %s', async (_name, prepare) => {
    shop.backup()
    await prepare()
    const before = names()
    write(-1)
    write(0, 1)
    expect(names()).toEqual([...before, nameOf(0)].sort())
  })

  test('is rid of what a backup that was killed has left, a day later', () => {
    for (const name of ['.mayfly-a1B2c3', '.mayfly-d4E5f6', '.mayfly-mine']) {
      mkdirSync(join(folder, name))
      writeFileSync(join(folder, name, 'copy.db'), '')
    }
    const dayAgo = Date.now() / 1000 - 90_000
    for (const name of ['.mayfly-a1B2c3', '.mayfly-mine']) {
      utimesSync(join(folder, name), dayAgo, dayAgo)
    }
    write()
    expect(names()).toEqual(['.mayfly-d4E5f6', '.mayfly-mine', nameOf(0)])
  })

  test('has one of a day if this installation has made it', async () => {
    const isMade = () => hasBackupOfDay(shop.data, folder, NOON)
    expect(isMade()).toBe(false)
    write(-1)
    write(1)
    const other = shopFolder()
    await giveSecret(other.data, 2)
    write(0, undefined, other.data)
    other.remove()
    expect(isMade()).toBe(false)
    write()
    expect(isMade()).toBe(true)
  })

  test('is refused by restore, which names the newest', () => {
    for (const day of [0, 1]) write(day)
    expect(() => restoreBackup(shop.data, folder, { now: NOON, tell() {} })).toThrow(
      `${folder} is a folder. Restore one of its files; the newest is ${nameOf(1)}.`,
    )
  })
})

describe('the target of a backup', () => {
  const to = (target: string, keep?: number) =>
    backUpTo(shop.data, target, { force: false, keep, now: NOON, tell() {} })

  test('is a folder if it is one, or ends with a slash, and else a file', () => {
    expect(to(folder).file).toBe(join(folder, nameOf(0)))
    expect(to(shop.file).file).toBe(shop.file)
    expect(() => to(shop.file)).toThrow(/exists\. Use --force/)
    expect(() => to(`${folder}-missing/`)).toThrow(/backups-missing does not exist\. Create it/)
  })

  test.each([
    ['a file', () => shop.file, /--keep needs a folder, which \S+ is not\.$/],
    ['missing', () => `${folder}-missing`, /--keep needs a folder.* Create it first/],
  ])('may not be %s with --keep', (_name, target, message) => {
    shop.backup()
    expect(() => to(target(), 2)).toThrow(message)
  })

  test('is named if it cannot be used', () => {
    copyFileSync(join(shop.data, 'shop.db'), shop.file)
    expect(() => to(`${shop.file}/`)).toThrow(/backup\.db is not a folder/)
    if (process.getuid?.() === 0) return
    chmodSync(folder, 0o500)
    expect(() => to(folder)).toThrow(/backups cannot be written to by this user/)
  })
})
