import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hasErrorCode } from '../../base/problem.ts'

/**
 * A file in the data folder, written after each backup. Its time is that of the backup. It contains the name of the backup, then
 * `regular` once one was made with `--keep`, as by a timer.
 */
export const LAST_BACKUP = 'last-backup'

/** When a backup of this data folder was last written and verified. */
export function lastBackupAt(folder: string): Date | undefined {
  return statSync(join(folder, LAST_BACKUP), { throwIfNoEntry: false })?.mtime
}

/** Whether more are to be expected: also if another user, as that of a timer, wrote what cannot be read here. */
export function isRegular(folder: string): boolean {
  try {
    return readFileSync(join(folder, LAST_BACKUP), 'utf8').endsWith('\nregular\n')
  } catch (error) {
    return !hasErrorCode(error, 'ENOENT')
  }
}
