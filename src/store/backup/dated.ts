import {
  closeSync,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { openReadOnly, SHOP_FILE } from '../sqlite/files.ts'
import { type BackupContents, BackupRefused, writeBackup } from './backup.ts'

// A folder of backups: files named after the time of each, in UTC, so that they sort by age.

export interface DatedBackup extends BackupContents {
  file: string
  /** Paths of older backups that were deleted. */
  deleted: string[]
}

interface DatedOptions {
  /** How many backups of this installation stay; undefined: all. */
  keep: number | undefined
  now: Date
  /** Reports the current step. */
  tell(step: string): void
}

/** To a file, or to a new file in a folder of backups. */
export function backUpTo(
  data: string,
  target: string,
  { force, ...options }: DatedOptions & { force: boolean },
): DatedBackup {
  const found = statSync(target, { throwIfNoEntry: false })
  if (target.endsWith('/') || found?.isDirectory()) return writeDatedBackup(data, target, options)
  if (options.keep !== undefined) {
    const fix = found ? '' : ' Create it first, writable for this user.'
    throw new BackupRefused(`--keep needs a folder, which ${target} is not.${fix}`)
  }
  return { file: target, ...writeBackup(data, target, { ...options, force }), deleted: [] }
}

/** Writes a backup into the folder. Once it has been verified, the oldest are deleted. */
export function writeDatedBackup(
  data: string,
  folder: string,
  { keep, now, tell }: DatedOptions,
): DatedBackup {
  const file = freeName(resolve(folder), now)
  const contents = writeBackup(data, file, { force: false, regular: keep !== undefined, tell })
  return { file, ...contents, deleted: keep === undefined ? [] : deleteOldest(file, keep) }
}

/** Whether the folder has a backup of this installation that was made on the same day, in UTC. */
export function hasBackupOfDay(data: string, folder: string, now: Date): boolean {
  const day = nameAt(now).slice(0, 'mayfly-YYYY-MM-DD'.length)
  const today = datedNames(folder).filter((name) => name.startsWith(day))
  return today.some((name) => isSameInstallation(join(folder, name), join(data, SHOP_FILE)))
}

/** Names of files in the folder that look like backups, oldest first. */
export function datedNames(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names
    .filter((name) => /^mayfly-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z\.db$/.test(name))
    .sort()
}

function nameAt(time: Date): string {
  return `mayfly-${time.toISOString().replaceAll(':', '-')}.db`
}

/** Of two backups at the same moment, the second is a millisecond later. */
function freeName(folder: string, now: Date): string {
  const file = join(folder, nameAt(now))
  return existsSync(file) ? freeName(folder, new Date(now.getTime() + 1)) : file
}

/**
 * Deletes backups of the same installation that are older than this one, which has been verified. What is newer is left alone: it
 * may be that of another command, whose own deletion leaves this one alone, or have been named by a wrong clock.
 */
function deleteOldest(file: string, keep: number): string[] {
  const folder = resolve(file, '..')
  const older = datedNames(folder)
    .filter((name) => name < basename(file))
    .map((name) => join(folder, name))
    .filter((path) => isSameInstallation(path, file))
  const oldest = older.slice(0, Math.max(0, older.length - keep + 1))
  for (const path of oldest) rmSync(path, { force: true })
  return oldest
}

/** Damaged and incomplete files, those of others, and those without a secret are never the same. */
function isSameInstallation(path: string, other: string): boolean {
  try {
    const secret = lstatSync(path).isFile() && isComplete(path) ? secretIn(path) : undefined
    return secret !== undefined && secret === secretIn(other)
  } catch {
    return false
  }
}

function secretIn(path: string): string | undefined {
  const db = openReadOnly(path)
  try {
    const secret = db.prepare<[], Buffer>('select secret from installation').pluck().get()
    return secret?.toString('hex')
  } finally {
    db.close()
  }
}

/** Whether it has as many pages as its header says: SQLite reads a truncated end as zeros without an error. */
export function isComplete(file: string): boolean {
  const page = headerOf(file)
  return page !== undefined && page.size * page.count === statSync(file).size
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
