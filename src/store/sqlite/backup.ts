import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { hasErrorCode, OperatorError } from '../../core/problem.ts'
import { type Db, isCorruption, openReadOnly, SHOP_FILE } from './files.ts'

export interface ShopContents {
  keys: number
  orders: number
  bytes: number
}

interface BackupOptions {
  /** Replaces an existing file. */
  force: boolean
  /** Reports the current step. */
  tell(step: string): void
}

/** Copies a snapshot of shop.db, also while the service writes to it. The file appears complete or not at all. */
export function backupShop(
  folder: string,
  file: string,
  { force, tell }: BackupOptions,
): ShopContents {
  const source = join(folder, SHOP_FILE)
  const target = resolve(file)
  if (!existsSync(source)) throw new BackupRefused(`There is no ${source}.`)
  checkTarget(folder, target, force)
  return withTempFolder(dirname(target), (temp) => {
    const copy = join(temp, basename(target))
    tell('Copying …')
    copyShop(source, copy)
    tell('Checking the copy …')
    const contents = withDb(copy, (db) => {
      checkIntegrity(db)
      return contentsOf(db, copy)
    })
    sync(copy, 'r+')
    // It may have been created meanwhile, and a rename would replace it.
    checkTarget(folder, target, force)
    renameSync(copy, target)
    sync(dirname(target), 'r')
    // Its time is that of the last backup.
    writeFileSync(join(folder, LAST_BACKUP), `${target}\n`)
    return contents
  })
}

const LAST_BACKUP = 'last-backup'

/** The number of keys and orders, and when they were last backed up. */
export function backupState(folder: string): { entries: number; at: Date | undefined } {
  const at = statSync(join(folder, LAST_BACKUP), { throwIfNoEntry: false })?.mtime
  const path = join(folder, SHOP_FILE)
  if (!existsSync(path)) return { entries: 0, at }
  const db = openReadOnly(path)
  try {
    const { keys, orders } = contentsOf(db, path)
    return { entries: keys + orders, at }
  } finally {
    db.close()
  }
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

function copyShop(source: string, copy: string): void {
  // SQLite fills an empty file and keeps its mode: the shop is private.
  closeSync(openSync(copy, 'wx', 0o600))
  chmodSync(copy, 0o600)
  const db = openReadOnly(source)
  try {
    // One read transaction: writers neither disturb it nor wait for it.
    db.prepare('vacuum into ?').run(copy)
  } catch (cause) {
    if (hasErrorCode(cause, 'SQLITE_FULL')) {
      throw new BackupRefused('No space is left for the copy. Nothing was written.', { cause })
    }
    throw isCorruption(cause) ? new BackupRefused(`${source} is damaged.`, { cause }) : cause
  } finally {
    db.close()
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

/** An old shop may have no table of orders. */
export function contentsOf(db: Db, path: string): ShopContents {
  const tables = db
    .prepare<[], string>(`select name from sqlite_schema where type = 'table'`)
    .pluck()
  const known = tables.all()
  const count = (table: string) =>
    known.includes(table) ? Number(db.prepare(`select count(*) from ${table}`).pluck().get()) : 0
  return { keys: count('api_key'), orders: count('purchase'), bytes: statSync(path).size }
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
