import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openCheckpoints } from '../src/store/sqlite/checkpoints.ts'
import { type Db, openReadOnly, openWritable } from '../src/store/sqlite/files.ts'
import { makeTornDisk, tornDiskProblem } from './kit/programs/torn-disk.ts'
import { skipIfProblem } from './kit/skip.ts'
import { DISK, tempFolder } from './kit/store/stores.ts'

skipIfProblem(tornDiskProblem())

// Of a log that is long enough for a checkpoint, and of one more commit.
const [MANY, MORE] = [5_000, 300]
// Enough that the sync of the log succeeds in a checkpoint whose sync of the file fails: there a seed decides which do.
const FAILED_PERCENT = 60
const MAX_CHECKPOINTS = 50

test('a power cut after a checkpoint that could not be synced leaves what earlier ones have copied', async () => {
  const folder = tempFolder(DISK)
  onTestFinished(folder.remove)
  const disk = await makeTornDisk(folder.path, { seed: 1 })
  const db = openWritable(join(disk.path, 'rows.db'))
  db.exec('create table rows (id integer primary key, bytes blob)')
  const checkpoints = openCheckpoints(db)
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

  await disk.failSyncs(FAILED_PERCENT)
  for (let count = 0; count < MAX_CHECKPOINTS && !isCopied(db); count += 1) checkpoints.shorten()
  expect(await disk.failSyncs(0)).toBeGreaterThan(1)
  expect(isCopied(db)).toBe(true)
  // The log begins anew: what it had is now in the file alone.
  insert(db, 1)
  expect(isCopied(db)).toBe(false)

  const left = await disk.cut('cut', [])
  const after = openWritable(join(left.path, 'rows.db'))
  expect(after.pragma('integrity_check', { simple: true })).toBe('ok')
  expect(after.prepare('select count(*) from rows').pluck().get()).toBe(2 * MANY + MORE + 1)
  after.close()
  checkpoints.stop()
  db.close()
  await disk.remove()
  await left.remove()
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
