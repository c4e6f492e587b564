import { accessSync, constants, statSync } from 'node:fs'
import { type CheckResult, failure, ok, skipped, warning } from '../../base/check-result.ts'
import { toError } from '../../base/problem.ts'
import { backupState } from './backup.ts'

interface Facts {
  settings: { data: string; backup: { folder: string } }
  /** Undefined with SQLite. */
  inspectServer: unknown
  now(): Date
}

/** Check of `mayfly doctor`: whether what cannot be replaced was backed up lately. */
export const backupCheck = {
  name: 'backup',
  async run({ settings: { data, backup }, inspectServer, now }: Facts) {
    if (inspectServer) return skipped('PostgreSQL: see docs/scaling.md')
    const { folder } = backup
    const folderFault = folder === '' ? undefined : faultOf(folder)
    return evaluateBackup({ ...backupState(data), folder, folderFault }, now())
  },
}

function faultOf(folder: string): string | undefined {
  try {
    if (!statSync(folder).isDirectory()) return `${folder} is not a folder`
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    return toError(error).message
  }
}

export interface BackupFacts {
  /** The number of keys, orders and blocks. */
  entries: number
  /** When `mayfly backup` or the service last succeeded. */
  at: Date | undefined
  /** MAYFLY_BACKUP. */
  folder: string
  /** Why it cannot be written to by this user. */
  folderFault: string | undefined
}

const HOUR_MS = 3_600_000
const MAX_HOURS = 7 * 24
// A day, and one in which it failed.
const MAX_DAILY_HOURS = 48

export function evaluateBackup(
  { entries, at, folder, folderFault }: BackupFacts,
  now: Date,
): CheckResult {
  if (folderFault !== undefined) {
    return failure(
      `MAYFLY_BACKUP: ${folderFault}`,
      `Create ${folder} as a folder that the service can write to (under systemd, also ReadWritePaths=${folder} of its unit)`,
    )
  }
  if (entries === 0) return ok('no keys, orders or blocks to back up')
  const isDaily = folder !== ''
  const fix = isDaily
    ? 'The log of the service says why (the daily backup failed); then: mayfly backup'
    : 'MAYFLY_BACKUP=/elsewhere/mayfly, a folder for daily backups; or by a timer: mayfly backup /elsewhere/mayfly --keep 14'
  if (!at) return warning(`${entries} keys, orders and blocks were never backed up`, fix)
  const hours = Math.floor((now.getTime() - at.getTime()) / HOUR_MS)
  const seen = `the last backup is ${hours} hours old`
  return hours > (isDaily ? MAX_DAILY_HOURS : MAX_HOURS) ? warning(seen, fix) : ok(seen)
}
