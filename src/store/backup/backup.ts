import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { hasErrorCode, OperatorError } from '../../base/problem.ts'
import { HMAC_LENGTH } from '../../mail/rules/ledger.ts'
import { formatSize } from '../../shared/format-size.ts'
import { type Db, isCorruption, MAIL_FILE, openReadOnly, SHOP_FILE } from '../sqlite/files.ts'
import { isRegular, LAST_BACKUP, lastBackupAt } from './last-backup.ts'
import { addMailTables, tableNames } from './mail-backup.ts'

export interface BackupContents {
  keys: number
  orders: number
  blocks: number
  /** In the ledger. */
  addresses: number
  bytes: number
}

interface BackupOptions {
  /** Replaces an existing file. */
  force: boolean
  /** One of many, made by a timer. */
  regular?: boolean
  /** Reports the current step. */
  tell(step: string): void
}

/** Copies shop.db and a part of mail.db, also while the service writes to them. The file appears complete or not at all. */
export function writeBackup(
  folder: string,
  file: string,
  { force, regular = false, tell }: BackupOptions,
): BackupContents {
  const source = join(folder, SHOP_FILE)
  const target = resolve(file)
  if (!existsSync(source)) throw new BackupRefused(`There is no ${source}.`)
  const contents = withReason(dirname(target), () => {
    checkTarget(folder, target, force)
    deleteStale(dirname(target))
    return withTempFolder(dirname(target), (temp) => {
      const copy = join(temp, basename(target))
      copyData(folder, copy, tell)
      tell(`Checking the copy, ${sizeOf(copy)} …`)
      const found = withDb(copy, (db) => {
        checkIntegrity(db)
        return contentsOf(db, copy)
      })
      sync(copy, 'r+')
      // It may have been created meanwhile, and a rename would replace it.
      checkTarget(folder, target, force)
      renameSync(copy, target)
      sync(dirname(target), 'r')
      return found
    })
  })
  noteBackup(folder, target, regular || isRegular(folder))
  return contents
}

/** The time of this file is that of the last backup. It is replaced, because another user may have created it. */
function noteBackup(folder: string, target: string, regular: boolean): void {
  withTempFolder(folder, (temp) => {
    const note = join(temp, LAST_BACKUP)
    writeFileSync(note, `${target}\n${regular ? 'regular\n' : ''}`)
    renameSync(note, join(folder, LAST_BACKUP))
  })
}

const NO_SPACE = 'No space is left for the copy. Nothing was written.'
const FOLDER_FAULTS: Record<string, string> = {
  ENOENT: 'does not exist. Create it first, writable for this user.',
  ENOTDIR: 'is not a folder.',
  EACCES: 'cannot be written to by this user.',
  EPERM: 'cannot be written to by this user.',
  EROFS: 'is read-only. Under systemd, the unit must name it in ReadWritePaths=.',
}

/** Names what is wrong with the folder of a backup. */
function withReason<T>(folder: string, operation: () => T): T {
  try {
    return operation()
  } catch (cause) {
    if (hasErrorCode(cause, 'ENOSPC', 'EDQUOT')) throw new BackupRefused(NO_SPACE, { cause })
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    const fault = FOLDER_FAULTS[code]
    throw fault === undefined ? cause : new BackupRefused(`${folder} ${fault}`, { cause })
  }
}

const DAY_MS = 86_400_000

/** Deletes what backups that were killed have left, but nothing that another may still be writing. */
function deleteStale(folder: string): void {
  const temps = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^\.mayfly-\w{6}$/.test(entry.name))
    .map(({ name }) => join(folder, name))
  for (const temp of temps) {
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(temp, { throwIfNoEntry: false }) ?? {}
    if (mtimeMs < Date.now() - DAY_MS) rmSync(temp, { recursive: true, force: true })
  }
}

/** The number of keys, orders and blocks, and when they were last backed up. */
export function backupState(folder: string): { entries: number; at: Date | undefined } {
  const paths = [SHOP_FILE, MAIL_FILE].map((name) => join(folder, name)).filter(existsSync)
  const entries = paths.map((path) => {
    const db = openReadOnly(path)
    try {
      return countRows(db, 'api_key') + countRows(db, 'purchase') + countRows(db, 'block_entry')
    } finally {
      db.close()
    }
  })
  return { entries: entries.reduce((all, one) => all + one, 0), at: lastBackupAt(folder) }
}

function checkTarget(folder: string, target: string, force: boolean): void {
  if (realpathSync(dirname(target)) === realpathSync(folder)) {
    throw new BackupRefused(
      'A backup must not be in the data folder: both would be lost together. Choose another folder.',
    )
  }
  const there = statSync(target, { throwIfNoEntry: false })
  if (there && !there.isFile()) throw new BackupRefused(`${target} is not a regular file.`)
  if (there && !force) throw new BackupRefused(`${target} exists. Use --force to replace it.`)
}

function copyData(folder: string, copy: string, tell: BackupOptions['tell']): void {
  // SQLite fills an empty file and keeps its mode: the shop is private.
  closeSync(openSync(copy, 'wx', 0o600))
  chmodSync(copy, 0o600)
  tell(`Copying ${SHOP_FILE}, ${sizeOf(join(folder, SHOP_FILE))} …`)
  copyFrom(join(folder, SHOP_FILE), (path) => {
    const db = openReadOnly(path)
    try {
      // One read transaction: writers neither disturb it nor wait for it.
      db.prepare('vacuum into ?').run(copy)
    } finally {
      db.close()
    }
  })
  tell(`Copying from ${MAIL_FILE} …`)
  copyFrom(join(folder, MAIL_FILE), () => withDb(copy, (db) => addMailTables(db, folder)))
}

function copyFrom(source: string, operation: (source: string) => void): void {
  try {
    operation(source)
  } catch (cause) {
    if (hasErrorCode(cause, 'SQLITE_FULL')) throw new BackupRefused(NO_SPACE, { cause })
    if (isCorruption(cause)) throw new BackupRefused(`${source} is damaged.`, { cause })
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
    if (!/^SQLITE_(CANTOPEN|IOERR)/.test(code)) throw cause
    throw new BackupRefused(`${source} could not be copied: ${code}. Nothing was written.`, {
      cause,
    })
  }
}

/** Runs an operation with a temporary folder inside this one, which is deleted afterwards. */
export function withTempFolder<T>(folder: string, operation: (temp: string) => T): T {
  const temp = mkdtempSync(join(folder, '.mayfly-'))
  try {
    return operation(temp)
  } finally {
    rmSync(temp, { recursive: true, force: true })
  }
}

export function withDb<T>(path: string, operation: (db: Db) => T): T {
  const db = new Database(path, { fileMustExist: true, timeout: 2_000 })
  try {
    return operation(db)
  } finally {
    db.close()
  }
}

/** Throws if the file is corrupt or a foreign key is violated. */
export function checkIntegrity(db: Db): void {
  const faults = db.pragma('integrity_check') as { integrity_check: string }[]
  const orphans = db.pragma('foreign_key_check') as unknown[]
  if (faults[0]?.integrity_check === 'ok' && orphans.length === 0) return
  throw new BackupRefused(`It is damaged: ${faults[0]?.integrity_check}`)
}

export function contentsOf(db: Db, path: string): BackupContents {
  return {
    keys: countRows(db, 'api_key'),
    orders: countRows(db, 'purchase'),
    blocks: countRows(db, 'block_entry'),
    addresses: countAddresses(db),
    bytes: statSync(path).size,
  }
}

/** 0 if there is no such table, as in a backup of an earlier version. */
function countRows(db: Db, table: string): number {
  if (!tableNames(db).includes(table)) return 0
  return Number(db.prepare(`select count(*) from ${table}`).pluck().get())
}

/** One of the HMACs is the check value; the hashes of versions up to 0.3 have none. */
function countAddresses(db: Db): number {
  if (!tableNames(db).includes('address_ledger')) return 0
  const count = db.prepare(
    `with ledger (entry) as (select * from address_ledger)
     select count(*) - coalesce(max(length(entry) = ${HMAC_LENGTH}), 0) from ledger`,
  )
  return Number(count.pluck().get())
}

function sizeOf(path: string): string {
  return formatSize(statSync(path).size, 'en')
}

/** Makes the contents of a file durable; of a folder, opened with 'r', the files created and renamed in it. */
export function sync(path: string, flags: 'r+' | 'r'): void {
  const opened = openSync(path, flags)
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** Why nothing was backed up or restored; nothing was changed. */
export class BackupRefused extends OperatorError {}
