import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { hasErrorCode } from '../../core/problem.ts'
import { NewerSchema } from '../schema.ts'
import {
  BackupRefused,
  checkIntegrity,
  contentsOf,
  isCorruption,
  type ShopContents,
  syncFile,
  syncFolder,
  withDb,
  withTempFolder,
} from './backup.ts'
import { type Db, lockFolder, SHOP_FILE } from './files.ts'
import { openMigrated } from './migrate.ts'

interface RestoreOptions {
  now: Date
  /** Says what is being done, for who waits. */
  tell(words: string): void
}

interface Restored extends ShopContents {
  /** Where the former shop is; undefined when there was none. */
  kept: string | undefined
}

/** Puts a backup in the place of shop.db, which is kept under another name. Whatever is wrong is found before anything is changed. */
export function restoreShop(folder: string, file: string, { now, tell }: RestoreOptions): Restored {
  checkFile(file)
  const unlock = lockFolder(folder)
  try {
    return withTempFolder(folder, (desk) => {
      const copy = join(desk, SHOP_FILE)
      tell('Copying …')
      copyFileSync(file, copy, constants.COPYFILE_EXCL)
      chmodSync(copy, 0o600)
      tell('Checking the copy …')
      const contents = checkedShop(desk, file)
      syncFile(copy)
      const kept = keepCurrentShop(folder, now)
      renameSync(copy, join(folder, SHOP_FILE))
      syncFolder(folder)
      return { ...contents, kept }
    })
  } finally {
    unlock()
  }
}

/** Cheap looks at the file, before anything is copied. */
function checkFile(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false })
  if (!there) throw new BackupRefused(`There is no ${file}.`)
  if (!there.isFile()) throw new BackupRefused(`${file} is no file.`)
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  if (log && log.size > 0) {
    throw new BackupRefused(
      `${file}-wal lies beside it: this is a database in use, not a backup. Make one with: mayfly backup`,
    )
  }
  const page = headerOf(file)
  // SQLite reads what is missing at the end as zeros, and finds nothing wrong with it.
  if (!page || page.size * page.count !== there.size) {
    throw new BackupRefused(`${file} is no backup of mayfly, or not all of it.`)
  }
}

/** The size and the count of pages, as the file's first bytes have it. */
function headerOf(file: string): { size: number; count: number } | undefined {
  const header = Buffer.alloc(100)
  const opened = openSync(file, 'r')
  try {
    if (readSync(opened, header) < header.length) return undefined
  } finally {
    closeSync(opened)
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') return undefined
  const size = header.readUInt16BE(16)
  // 65,536 does not fit into two bytes and is written as 1.
  return { size: size === 1 ? 65_536 : size, count: header.readUInt32BE(28) }
}

/** Brings the copy to our schema, so that nothing is left that could fail once it is in its place. */
function checkedShop(desk: string, file: string): ShopContents {
  const copy = join(desk, SHOP_FILE)
  try {
    withDb(copy, (db) => {
      checkKind(db)
      checkIntegrity(db)
    })
    const migrated = openMigrated(desk, 'shop')
    try {
      if (schemaOf(migrated) !== currentSchema(desk))
        throw new BackupRefused('It has another shape.')
      // One file again, without a log beside it.
      migrated.pragma('journal_mode = DELETE')
    } finally {
      migrated.close()
    }
    return withDb(copy, (db) => contentsOf(db, copy))
  } catch (cause) {
    throw new BackupRefused(refusalText(cause, file), { cause })
  }
}

/** Before its schema's number is looked at: that of another file says nothing. One without tables would become an empty shop. */
function checkKind(db: Db): void {
  const keys = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'api_key'`)
  if (keys.get() === undefined) throw new NotAShop('It has no keys.')
}

class NotAShop extends Error {}

function refusalText(cause: unknown, file: string): string {
  if (cause instanceof NotAShop) return `${file} is no shop of mayfly: nothing was changed.`
  if (cause instanceof NewerSchema) {
    return `${file} was made by a newer mayfly. Restore it with that one.`
  }
  if (hasErrorCode(cause, 'SQLITE_FULL')) return 'There is no space for it.'
  return `${file} is not a whole shop of mayfly: nothing was changed.`
}

/** Names of tables, columns and indexes: also what somebody added to it. */
function schemaOf(db: Db): string {
  const names = db.prepare(
    `select thing.type, thing.name, part.name as part
     from sqlite_schema thing left join pragma_table_info(thing.name) part
     where thing.name not like 'sqlite_%' order by 1, 2, 3`,
  )
  return JSON.stringify(names.all())
}

function currentSchema(desk: string): string {
  const folder = join(desk, 'new')
  mkdirSync(folder)
  const db = openMigrated(folder, 'shop')
  try {
    return schemaOf(db)
  } finally {
    db.close()
  }
}

const LOGS = ['-wal', '-journal']

/** Gives the present shop a second name. Its log goes with it: beside another file it would be written into that one. */
function keepCurrentShop(folder: string, now: Date): string | undefined {
  const present = join(folder, SHOP_FILE)
  const kept = `${present}.before-${now.toISOString().replaceAll(':', '-')}`
  const logs = LOGS.filter((log) => existsSync(present + log))
  // Copied, because opening a damaged file may throw its log away.
  for (const log of logs) copyFileSync(present + log, kept + log, constants.COPYFILE_EXCL)
  const wasThere = existsSync(present)
  if (wasThere) {
    checkpointLog(present, kept)
    linkOrCopy(present, kept)
  }
  for (const log of [...LOGS, '-shm']) rmSync(present + log, { force: true })
  syncFolder(folder)
  return wasThere ? kept : undefined
}

/** Writes the log into the file. It needs the file for itself, so that a command beside us is found out. */
function checkpointLog(present: string, kept: string): void {
  try {
    withDb(present, (db) => db.pragma('journal_mode = DELETE'))
  } catch (cause) {
    // That may be why somebody restores: file and log are kept as they are.
    if (isCorruption(cause)) return
    dropLogs(kept)
    if (!hasErrorCode(cause, 'SQLITE_BUSY')) throw cause
    throw new BackupRefused(
      `${present} is in use by another command. Try again when it has ended.`,
      { cause },
    )
  }
  dropLogs(kept)
}

function dropLogs(kept: string): void {
  for (const log of LOGS) rmSync(kept + log, { force: true })
}

/** Until the new one is in its place the present one stays in it: a crash between leaves one of the two, never none. */
function linkOrCopy(present: string, kept: string): void {
  try {
    linkSync(present, kept)
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) throw error
    // Some file systems know no second names.
    copyFileSync(present, kept, constants.COPYFILE_EXCL)
    syncFile(kept)
  }
}
