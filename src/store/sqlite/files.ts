import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { hasErrorCode, OperatorError } from '../../base/problem.ts'

export type Db = Database.Database

export const MAIL_FILE = 'mail.db'
export const SHOP_FILE = 'shop.db'
const LOCK_FILE = 'lock.db'

export const LOCK_MS = 10_000
// Each thread has connections of its own, and the pages are in the page cache of the system as well. The default of better-sqlite3
// is 16 MB for each.
const WRITER_CACHE_KB = 8_000
const READER_CACHE_KB = 2_000

/** The only writable connection to a file. */
export function openWritable(path: string, maxBytes: number | 'auto' = 'auto'): Db {
  const db = new Database(path, { timeout: LOCK_MS })
  // Takes effect only before the first table is created. Pages freed by the sweep can then be released in small steps.
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  // NORMAL does not fsync each commit: mail acknowledged with 250 could be lost.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  // Overwrites what is deleted from pages that are written anyway. ON would also write every page that becomes free.
  db.pragma('secure_delete = FAST')
  db.pragma(`cache_size = -${WRITER_CACHE_KB}`)
  // See openCheckpoints.
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('journal_size_limit = 67108864')
  if (maxBytes !== 'auto') {
    const pageSize = Number(db.pragma('page_size', { simple: true }))
    db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
  }
  return db
}

/** For all other threads. Do not hold an iterator across an await: an open read keeps the WAL from shrinking. */
export function openReader(path: string): Db {
  const db = openReadOnly(path)
  db.pragma(`cache_size = -${READER_CACHE_KB}`)
  return db
}

/** Reads nothing yet: the file may be damaged. */
export function openReadOnly(path: string): Db {
  return new Database(path, { readonly: true, timeout: LOCK_MS })
}

/** Allows one `serve` per folder: an exclusive transaction that ends with the process. Otherwise throws `inUse`. */
export function lockFolder(
  folder: string,
  inUse = (options: ErrorOptions): Error => new FolderInUse(folder, options),
): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = new Database(join(folder, LOCK_FILE), { timeout: 0 })
  try {
    db.exec('begin exclusive')
  } catch (cause) {
    db.close()
    if (isCorruption(cause))
      throw new OperatorError(`${join(folder, LOCK_FILE)} is damaged. Delete it: it is empty.`, {
        cause,
      })
    throw hasErrorCode(cause, 'SQLITE_BUSY') ? inUse({ cause }) : cause
  }
  return () => db.close()
}

export function isCorruption(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && /^SQLITE_(CORRUPT|NOTADB)/.test(String(error.code))
  )
}

export class FolderInUse extends OperatorError {
  constructor(folder: string, options: ErrorOptions) {
    super(
      `The data folder ${folder} is in use by another mayfly. Stop it first, or set MAYFLY_DATA.`,
      options,
    )
  }
}
