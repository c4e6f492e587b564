import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { hasErrorCode } from '../../base/problem.ts'
import { ledgerKey, openLedgerHmac } from '../../mail/rules/ledger.ts'
import { NewerSchema } from '../schema.ts'
import { type Db, isCorruption, lockFolder, MAIL_FILE, SHOP_FILE } from '../sqlite/files.ts'
import { openMigrated } from '../sqlite/migrate.ts'
import {
  type BackupContents,
  BackupRefused,
  checkIntegrity,
  contentsOf,
  sync,
  withDb,
  withTempFolder,
} from './backup.ts'
import { datedNames, isComplete } from './dated.ts'
import { keepMail, takeMailTables } from './mail-backup.ts'

interface RestoreOptions {
  now: Date
  /** Reports the current step. */
  tell(step: string): void
}

interface Restored extends BackupContents {
  /** The paths of the files that were replaced. */
  previous: { shop: string | undefined; mail: string | undefined }
  /** Whether mail.db stayed, with what it lacked of the backup; undefined if there is none. */
  keptMail: boolean | undefined
}

/**
 * Replaces shop.db with a backup, and mail.db unless it is in use by the same installation. All checks of the backup run before
 * anything is changed.
 */
export function restoreBackup(
  folder: string,
  file: string,
  { now, tell }: RestoreOptions,
): Restored {
  checkFile(file)
  const unlock = lockFolder(folder)
  try {
    return withTempFolder(folder, (temp) => {
      const copy = join(temp, SHOP_FILE)
      tell('Copying …')
      copyFileSync(file, copy, constants.COPYFILE_EXCL)
      chmodSync(copy, 0o600)
      tell('Checking the copy …')
      const { contents, hasMail, check } = checkedBackup(temp, file, now)
      const stays = keepMail(folder, { temp: hasMail ? temp : undefined, check })
      const replacesMail = hasMail && !stays
      // The shop last: until then, a service starts with the previous one, and finds no state of the ledger.
      const names = replacesMail ? [MAIL_FILE, SHOP_FILE] : [SHOP_FILE]
      for (const name of names) sync(join(temp, name), 'r+')
      const [shop, mail] = keepCurrentFiles(folder, names.toReversed(), now)
      for (const name of names) renameSync(join(temp, name), join(folder, name))
      sync(folder, 'r')
      const keptMail = existsSync(join(folder, MAIL_FILE)) ? !replacesMail : undefined
      return { ...contents, previous: { shop, mail }, keptMail }
    })
  } finally {
    unlock()
  }
}

/** Cheap checks, before anything is copied. */
function checkFile(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false })
  if (!there) throw new BackupRefused(`There is no ${file}.`)
  if (there.isDirectory()) {
    const newest = datedNames(file).at(-1)
    const which = newest === undefined ? '' : ` Restore one of its files; the newest is ${newest}.`
    throw new BackupRefused(`${file} is a folder.${which}`)
  }
  if (!there.isFile()) throw new BackupRefused(`${file} is not a regular file.`)
  const log = statSync(`${file}-wal`, { throwIfNoEntry: false })
  if (log && log.size > 0) {
    throw new BackupRefused(
      `${file}-wal exists: this is a database in use, not a backup. Create one with: mayfly backup`,
    )
  }
  if (!isComplete(file)) {
    throw new BackupRefused(`${file} is not a mayfly backup, or incomplete.`)
  }
}

interface CheckedBackup {
  contents: BackupContents
  /** Whether there is a mail.db in the temporary folder. */
  hasMail: boolean
  /** The check value of its ledger. */
  check: string
}

/** Migrates the copy, so that nothing can fail once it is in place. */
function checkedBackup(temp: string, file: string, now: Date): CheckedBackup {
  const copy = join(temp, SHOP_FILE)
  try {
    const found = withDb(copy, (db) => {
      checkKind(db)
      checkIntegrity(db)
      return { contents: contentsOf(db, file), hasMail: takeMailTables(db, temp, now) }
    })
    const migrated = openMigrated(temp, 'shop')
    try {
      if (schemaOf(migrated) !== currentSchema(temp)) throw new BackupRefused('Its schema differs.')
      // Sign-ins to the admin page that have ended since the backup must not come back.
      migrated.exec('delete from admin_session')
      const check = checkValue(migrated)
      if (found.hasMail) addCheckValue(temp, check)
      // One file, without a WAL.
      migrated.pragma('journal_mode = DELETE')
      return { ...found, check }
    } finally {
      migrated.close()
    }
  } catch (cause) {
    throw new BackupRefused(refusalText(cause, file), { cause })
  }
}

/** Check value of the ledger, by the installation's secret. A shop without one would pass for that of a new installation. */
function checkValue(shop: Db): string {
  shop
    .prepare('insert into installation (id, secret) values (1, ?) on conflict do nothing')
    .run(randomBytes(32))
  const secret = shop.prepare<[], Uint8Array>('select secret from installation').pluck().get()
  if (!secret) throw new Error('the installation secret was not stored')
  return openLedgerHmac(ledgerKey(secret)).check
}

/** To a ledger without entries: if the shop is missing after a crash, it would pass for that of a new installation. */
function addCheckValue(temp: string, check: string): void {
  const add = `insert into address_ledger
    select ? where not exists (select 1 from address_ledger)`
  withDb(join(temp, MAIL_FILE), (mail) => mail.prepare(add).run(check))
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

/** The paths of the copies; undefined for a file that does not exist. If one cannot be kept, none is. */
function keepCurrentFiles(
  folder: string,
  names: readonly string[],
  now: Date,
): (string | undefined)[] {
  const kept: (string | undefined)[] = []
  try {
    for (const name of names) kept.push(keepCurrentFile(folder, name, now))
    return kept
  } catch (error) {
    for (const path of kept.filter((one) => one !== undefined)) {
      rmSync(path)
      dropLogs(path)
    }
    throw error
  }
}

/** Keeps the current file under another name, with its WAL: beside the new file, SQLite would apply it to that one. */
function keepCurrentFile(folder: string, name: string, now: Date): string | undefined {
  const present = join(folder, name)
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
