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
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { hasErrorCode } from '../../core/problem.ts'
import { type Db, openReadOnly, SHOP_FILE } from './files.ts'

/** What a copy of the shop holds. */
export interface ShopContents {
  keys: number
  orders: number
  bytes: number
}

interface BackupOptions {
  /** Replaces a file that is there. */
  force: boolean
  /** Says what is being done, for who waits. */
  tell(words: string): void
}

/** Copies shop.db as it is at one moment, also while the service writes to it. The file is there whole, or not at all. */
export function backupShop(
  folder: string,
  file: string,
  { force, tell }: BackupOptions,
): ShopContents {
  const source = join(folder, SHOP_FILE)
  const target = resolve(file)
  if (!existsSync(source)) throw new BackupRefused(`There is no ${source}: nothing is sold yet.`)
  checkTarget(folder, target, force)
  return withTempFolder(dirname(target), (desk) => {
    const copy = join(desk, basename(target))
    tell('Copying …')
    copyShop(source, copy)
    tell('Checking the copy …')
    const contents = withDb(copy, (db) => {
      checkIntegrity(db)
      return contentsOf(db, copy)
    })
    syncFile(copy)
    // It may have come meanwhile; a rename would not ask.
    checkTarget(folder, target, force)
    renameSync(copy, target)
    syncFolder(dirname(target))
    return contents
  })
}

function checkTarget(folder: string, target: string, force: boolean): void {
  if (realpathSync(dirname(target)) === realpathSync(folder)) {
    throw new BackupRefused(
      'A backup does not belong into the data folder: what befalls the one befalls the other. Choose another folder.',
    )
  }
  const there = statSync(target, { throwIfNoEntry: false })
  if (there && !there.isFile()) throw new BackupRefused(`${target} is no file to write to.`)
  if (there && !force) throw new BackupRefused(`${target} is there already. To replace it: --force`)
}

function copyShop(source: string, copy: string): void {
  // SQLite fills an empty file, and leaves its mode as it is: hashes and addresses are nobody else's.
  closeSync(openSync(copy, 'wx', 0o600))
  chmodSync(copy, 0o600)
  const db = openReadOnly(source)
  try {
    // One read transaction: what is written meanwhile neither disturbs it nor waits for it.
    db.prepare('vacuum into ?').run(copy)
  } catch (cause) {
    if (hasErrorCode(cause, 'SQLITE_FULL')) {
      throw new BackupRefused('There is no space for the copy: nothing was written.', { cause })
    }
    throw isCorruption(cause) ? new BackupRefused(`${source} is damaged.`, { cause }) : cause
  } finally {
    db.close()
  }
}

/** Does something in a folder of its own within this one: what is left there when it is done, or fails, is gone. */
export function withTempFolder<T>(folder: string, operation: (desk: string) => T): T {
  const desk = mkdtempSync(join(folder, '.mayfly-'))
  try {
    return operation(desk)
  } finally {
    rmSync(desk, { recursive: true, force: true })
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

/** Throws unless every page is where it belongs and every row refers to one that is there. */
export function checkIntegrity(db: Db): void {
  const faults = db.pragma('integrity_check') as { integrity_check: string }[]
  const strays = db.pragma('foreign_key_check') as unknown[]
  if (faults[0]?.integrity_check === 'ok' && strays.length === 0) return
  throw new BackupRefused(`It is damaged: ${faults[0]?.integrity_check}`)
}

/** The orders of a shop from before there were any are none. */
export function contentsOf(db: Db, path: string): ShopContents {
  const tables = db
    .prepare<[], string>(`select name from sqlite_schema where type = 'table'`)
    .pluck()
  const known = tables.all()
  const count = (table: string) =>
    known.includes(table) ? Number(db.prepare(`select count(*) from ${table}`).pluck().get()) : 0
  return { keys: count('api_key'), orders: count('purchase'), bytes: statSync(path).size }
}

export function isCorruption(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && /^SQLITE_(CORRUPT|NOTADB)/.test(String(error.code))
  )
}

export function syncFile(path: string): void {
  const file = openSync(path, 'r+')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** A name is on disk only when its folder is. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Why no copy was made or taken back; nothing was changed. */
export class BackupRefused extends Error {}
