import { closeSync, fdatasyncSync, openSync, readSync, writeSync } from 'node:fs'
import { hasErrorCode } from '../../base/problem.ts'
import { type Db, LOCK_MS } from './files.ts'

// The default of SQLite's own checkpoints is 1,000.
const LONG_LOG_PAGES = 4_000
const EMPTY_LOG_MS = 30_000
const BUSY_AGAIN_MS = 1_000
// Commits wait meanwhile. Reads take less; new ones do not use the log any more once it is copied.
const READS_MS = 20
/** Of `nBackfill` in the index of the log: https://sqlite.org/walformat.html */
const COPIED_AT = 96

/**
 * Copies the write-ahead log to the file when it is long, and empties it regularly: until then it contains what has been deleted.
 * SQLite's own checkpoints are off, because they ignore errors.
 */
export function openCheckpoints(db: Db) {
  const inspect = db.prepare<[], { log: number }>('pragma wal_checkpoint(noop)')
  let timer: NodeJS.Timeout
  let index: number | undefined
  let isAnyLost = false

  /** False if a read or another process uses the log, or the disk fails, which the next commit reports. */
  function checkpoint(mode: 'passive' | 'truncate'): boolean {
    if (!copyLostAgain()) return false
    try {
      const [result] = db.pragma(`wal_checkpoint(${mode})`) as { busy: number }[]
      return result?.busy === 0
    } catch (error) {
      isAnyLost = hasErrorCode(error, 'SQLITE_IOERR_FSYNC')
      copyLostAgain()
      return false
    }
  }

  /**
   * A checkpoint that copies only a part, because of a read, leaves the sync to the next one. If that sync fails, the system takes the
   * pages of both for written, and SQLite would not copy those of the first again: it has counted them as copied. False if the index
   * cannot be written: then no checkpoint may follow.
   */
  function copyLostAgain(): boolean {
    if (!isAnyLost) return true
    try {
      // Never closed: that would release all locks of this process on it.
      index ??= openSync(`${db.name}-shm`, 'r+')
      writeSync(index, new Uint32Array(1), 0, 4, COPIED_AT)
      isAnyLost = false
    } catch {
      return false
    }
    return true
  }

  function empty(): boolean {
    db.pragma(`busy_timeout = ${READS_MS}`)
    try {
      return checkpoint('truncate')
    } finally {
      db.pragma(`busy_timeout = ${LOCK_MS}`)
    }
  }

  const next = (ms: number) => {
    timer = setTimeout(() => next(empty() ? EMPTY_LOG_MS : BUSY_AGAIN_MS), ms).unref()
  }
  next(EMPTY_LOG_MS)
  return {
    /** After commits. */
    shorten(): void {
      if ((inspect.get()?.log ?? 0) >= LONG_LOG_PAGES) checkpoint('passive')
    },
    /** Before the file is closed, which is a checkpoint, too. */
    stop(): void {
      clearTimeout(timer)
      copyLostAgain()
    },
  }
}

const CHUNK_BYTES = 2 ** 20

/**
 * Writes the log again that a service has left which did not end properly. It may have pages of a commit whose sync has failed: the
 * system takes them for written, and SQLite for committed, and a power cut would lose them and every later commit.
 */
export function rewriteLog(db: Db): void {
  // Nobody else writes to it meanwhile.
  db.exec('begin immediate')
  const log = openSync(`${db.name}-wal`, 'r+')
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    for (let at = 0, length = 0; ; at += length) {
      length = readSync(log, chunk, 0, CHUNK_BYTES, at)
      if (length === 0) break
      writeSync(log, chunk, 0, length, at)
    }
    fdatasyncSync(log)
  } finally {
    closeSync(log)
    db.exec('rollback')
  }
}
