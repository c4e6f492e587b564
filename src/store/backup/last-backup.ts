import { statSync } from 'node:fs'
import { join } from 'node:path'

/** A file in the data folder, written after each backup. Its time is that of the backup. */
export const LAST_BACKUP = 'last-backup'

/** When a backup of this data folder was last written and verified. */
export function lastBackupAt(folder: string): Date | undefined {
  return statSync(join(folder, LAST_BACKUP), { throwIfNoEntry: false })?.mtime
}
