import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openCheckpoints, rewriteLog } from '../src/store/sqlite/checkpoints.ts'
import { type Db, openReadOnly, openWritable } from '../src/store/sqlite/files.ts'
import { makeTornDisk, type TornDisk, tornDiskProblem } from './kit/programs/torn-disk.ts'
import { skipIfProblem } from './kit/skip.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

skipIfProblem(tornDiskProblem())

const FILE = 'rows.db'
// Of a log that is long enough for a checkpoint, and of more commits.
const [MANY, MORE] = [5_000, 300]
const COMMITS = fileURLToPath(new URL('kit/programs/commits.ts', import.meta.url))

async function makeDisk(): Promise<TornDisk> {
  const folder = tempFolder(DISK)
  onTestFinished(folder.remove)
  return onDisk(await makeTornDisk(folder.path, { seed: 1 }))
}

function onDisk(disk: TornDisk): TornDisk {
  onTestFinished(disk.remove)
  return disk
}

/** Opens the file of rows there, before the disk is removed. */
function openRows(disk: TornDisk): Db {
  const db = openWritable(join(disk.path, FILE))
  onTestFinished(() => void db.close())
  return db
}

function expectRows(db: Db, count: number): void {
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(db.prepare('select count(*) from rows').pluck().get()).toBe(count)
}

test('a power cut after a checkpoint that could not be synced leaves what earlier ones have copied', async () => {
  const disk = await makeDisk()
  const db = openRows(disk)
  db.exec('create table rows (id integer primary key, bytes blob)')
  const checkpoints = openCheckpoints(db)
  onTestFinished(checkpoints.stop)
  insert(db, MANY)
  checkpoints.shorten()
  insert(db, MANY)
  readMeanwhile(db, () => {
    insert(db, MORE)
    checkpoints.shorten()
  })
  // It has copied a part, without a sync.
  expect(logOf(db).checkpointed).toBeGreaterThan(MANY)
  expect(logOf(db).checkpointed).toBeLessThan(logOf(db).log)

  await disk.failSyncs(100, FILE)
  checkpoints.shorten()
  expect(await disk.failSyncs(0)).toBe(1)
  // At once, because a command beside the service may checkpoint next.
  expect(logOf(db).checkpointed).toBe(0)
  checkpoints.shorten()
  expect(isCopied(db)).toBe(true)
  // The log begins anew: what it had is now in the file alone.
  insert(db, 1)
  expect(isCopied(db)).toBe(false)

  expectRows(openRows(onDisk(await disk.cut('cut', []))), 2 * MANY + MORE + 1)
})

test('what is committed after a commit that could not be synced, and a crash, is there after a power cut', async () => {
  const disk = await makeDisk()
  const path = join(disk.path, FILE)
  const child = spawn(process.execPath, [COMMITS, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  expect((await lines.next()).value).toBe('committed')
  await disk.failSyncs(100)
  child.stdin.write('\n')
  expect((await lines.next()).value).toBe('SQLITE_IOERR_FSYNC')
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await disk.failSyncs(0)).toBe(1)

  const db = openRows(disk)
  rewriteLog(db)
  const before = Number(db.prepare('select count(*) from rows').pluck().get())
  for (let count = 0; count < MORE; count += 1) insert(db, 1)
  expectRows(openRows(onDisk(await disk.cut('cut', []))), before + MORE)
})

function insert(db: Db, count: number): void {
  const one = db.prepare('insert into rows (bytes) values (randomblob(3000))')
  db.transaction(() => {
    for (let row = 0; row < count; row += 1) one.run()
  })()
}

/** While a read uses the log as it is. */
function readMeanwhile(db: Db, work: () => void): void {
  const reader = openReadOnly(db.name)
  reader.exec('begin')
  reader.prepare('select count(*) from rows').get()
  work()
  reader.exec('commit')
  reader.close()
}

function logOf(db: Db): { log: number; checkpointed: number } {
  const [log] = db.pragma('wal_checkpoint(noop)') as { log: number; checkpointed: number }[]
  return log ?? { log: 0, checkpointed: 0 }
}

const isCopied = (db: Db) => logOf(db).checkpointed === logOf(db).log
