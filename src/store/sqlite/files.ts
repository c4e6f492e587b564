import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { hasErrorCode } from '../../core/problem.ts'

export type Db = Database.Database

export const MAIL_FILE = 'mail.db'
export const SHOP_FILE = 'shop.db'

/** The one writable connection to a file. */
export function openWritable(path: string, maxBytes: number | 'auto' = 'auto'): Db {
  const db = new Database(path, { timeout: 10_000 })
  // Counts only before the first table is made: pages freed by the sweep can then be given back in small steps.
  db.pragma('auto_vacuum = INCREMENTAL')
  db.pragma('journal_mode = WAL')
  // NORMAL does not fsync each commit, and then a 250 would promise what the disk does not hold.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma('journal_size_limit = 67108864')
  if (maxBytes !== 'auto') {
    const pageSize = Number(db.pragma('page_size', { simple: true }))
    db.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`)
  }
  return db
}

/** For everybody else. Holds no iterator across an await: an open read would keep the log file from shrinking. */
export function openReadOnly(path: string): Db {
  return new Database(path, { readonly: true, timeout: 10_000 })
}

/** Makes one `serve` per folder: an exclusive transaction that dies with the process. */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const db = new Database(join(folder, 'lock.db'), { timeout: 0 })
  try {
    db.exec('begin exclusive')
  } catch (cause) {
    db.close()
    throw hasErrorCode(cause, 'SQLITE_BUSY') ? new FolderInUse(folder, { cause }) : cause
  }
  return () => db.close()
}

export class FolderInUse extends Error {
  constructor(folder: string, options: ErrorOptions) {
    super(
      `Another mayfly serves the data folder ${folder}. Stop it first, or set MAYFLY_DATA.`,
      options,
    )
  }
}
