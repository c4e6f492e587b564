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
  type ShopContents,
  sync,
  withDb,
  withTempFolder,
} from './backup.ts'
import { type Db, isCorruption, lockFolder, SHOP_FILE } from './files.ts'
import { openMigrated } from './migrate.ts'

interface RestoreOptions {
  now: Date
  /** Reports the current step. */
  tell(step: string): void
}

interface Restored extends ShopContents {
  /** The path of the previous shop; undefined if there was none. */
  previous: string | undefined
}

/** Replaces shop.db, which is kept under another name, with a backup. All checks run before anything is changed. */
export function restoreShop(folder: string, file: string, { now, tell }: RestoreOptions): Restored {
  checkFile(file)
  const unlock = lockFolder(folder)
  try {
    return withTempFolder(folder, (temp) => {
      const copy = join(temp, SHOP_FILE)
      tell('Copying …')
      copyFileSync(file, copy, constants.COPYFILE_EXCL)
      chmodSync(copy, 0o600)
      tell('Checking the copy …')
      const contents = checkedShop(temp, file)
      sync(copy, 'r+')
      const previous = keepCurrentShop(folder, now)
      renameSync(copy, join(folder, SHOP_FILE))
      sync(folder, 'r')
      return { ...contents, previous }
    })
  } finally {
    unlock()
  }
}

/** Cheap checks, before anything is copied. */
function checkFile(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false })
  if (!there) throw new BackupRefused(`There is no ${file}.`)
  if (!there.isFile()) throw new BackupRefused(`${file} is not a regular file.`)
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  if (log && log.size > 0) {
    throw new BackupRefused(
      `${file}-wal exists: this is a database in use, not a backup. Create one with: mayfly backup`,
    )
  }
  const page = headerOf(file)
  // SQLite reads a truncated end as zeros without an error.
  if (!page || page.size * page.count !== there.size) {
    throw new BackupRefused(`${file} is not a mayfly backup, or incomplete.`)
  }
}

/** Page size and page count, from the file header. */
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
  // 65,536 does not fit into two bytes and is stored as 1.
  return { size: size === 1 ? 65_536 : size, count: header.readUInt32BE(28) }
}

/** Migrates the copy, so that nothing can fail once it is in place. */
function checkedShop(temp: string, file: string): ShopContents {
  const copy = join(temp, SHOP_FILE)
  try {
    withDb(copy, (db) => {
      checkKind(db)
      checkIntegrity(db)
    })
    const migrated = openMigrated(temp, 'shop')
    try {
      if (schemaOf(migrated) !== currentSchema(temp)) throw new BackupRefused('Its schema differs.')
      // Sign-ins to the admin page that have ended since the backup must not come back.
      migrated.exec('delete from admin_session')
      // One file, without a WAL.
      migrated.pragma('journal_mode = DELETE')
    } finally {
      migrated.close()
    }
    return withDb(copy, (db) => contentsOf(db, copy))
  } catch (cause) {
    throw new BackupRefused(refusalText(cause, file), { cause })
  }
}

/** Before the schema version is checked, which means nothing in another file. A file without tables would become an empty shop. */
function checkKind(db: Db): void {
  const keys = db.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'api_key'`)
  if (keys.get() === undefined) throw new NotAShop('It has no keys.')
}

class NotAShop extends Error {}

function refusalText(cause: unknown, file: string): string {
  if (cause instanceof NotAShop) return `${file} is not a mayfly shop. Nothing was changed.`
  if (cause instanceof NewerSchema) {
    return `${file} was created by a newer version. Restore it with that version.`
  }
  if (hasErrorCode(cause, 'SQLITE_FULL')) return 'No space is left. Nothing was changed.'
  return `${file} is damaged or incomplete. Nothing was changed.`
}

/** Names of all tables, columns and indexes. */
function schemaOf(db: Db): string {
  const names = db.prepare(
    `select thing.type, thing.name, part.name as part
     from sqlite_schema thing left join pragma_table_info(thing.name) part
     where thing.name not like 'sqlite_%' order by 1, 2, 3`,
  )
  return JSON.stringify(names.all())
}

function currentSchema(temp: string): string {
  const folder = join(temp, 'new')
  mkdirSync(folder)
  const db = openMigrated(folder, 'shop')
  try {
    return schemaOf(db)
  } finally {
    db.close()
  }
}

const LOGS = ['-wal', '-journal']

/** Keeps the current shop under another name, with its WAL: beside the new file, SQLite would apply it to that one. */
function keepCurrentShop(folder: string, now: Date): string | undefined {
  const present = join(folder, SHOP_FILE)
  const previous = `${present}.before-${now.toISOString().replaceAll(':', '-')}`
  const logs = LOGS.filter((log) => existsSync(present + log))
  // Copied, because opening a damaged file may delete its WAL.
  for (const log of logs) copyFileSync(present + log, previous + log, constants.COPYFILE_EXCL)
  const wasThere = existsSync(present)
  if (wasThere) {
    checkpointLog(present, previous)
    linkOrCopy(present, previous)
  }
  for (const log of [...LOGS, '-shm']) rmSync(present + log, { force: true })
  sync(folder, 'r')
  return wasThere ? previous : undefined
}

/** Writes the WAL into the file. It needs exclusive access, so that a concurrent command is detected. */
function checkpointLog(present: string, previous: string): void {
  try {
    withDb(present, (db) => db.pragma('journal_mode = DELETE'))
  } catch (cause) {
    // That may be the reason for the restore: file and WAL are kept as they are.
    if (isCorruption(cause)) return
    dropLogs(previous)
    if (!hasErrorCode(cause, 'SQLITE_BUSY')) throw cause
    throw new BackupRefused(
      `${present} is in use by another command. Try again when that has ended.`,
      { cause },
    )
  }
  dropLogs(previous)
}

function dropLogs(previous: string): void {
  for (const log of LOGS) rmSync(previous + log, { force: true })
}

/** The current file stays in place until the new one replaces it: a crash in between leaves one of the two. */
function linkOrCopy(present: string, previous: string): void {
  try {
    linkSync(present, previous)
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) throw error
    // Some file systems have no hard links.
    copyFileSync(present, previous, constants.COPYFILE_EXCL)
    sync(previous, 'r+')
  }
}
