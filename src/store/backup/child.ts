import { setPriority } from 'node:os'
import { OperatorError } from '../../base/problem.ts'
import { type DatedBackup, hasBackupOfDay, writeDatedBackup } from './dated.ts'

// The daily backup of the service, in a process of its own: SQLite copies and checks without a pause, and a folder on the network
// may not respond.

export interface BackupTask {
  data: string
  folder: string
  keep: number
  /** By the clock of the service, in milliseconds. */
  at: number
}

/** Neither if there already is a backup of this day. */
export interface BackupOutcome {
  written?: DatedBackup
  refused?: string
}

const [given = ''] = process.argv.slice(2)
process.umask(0o077)
setPriority(10)
process.stdout.write(JSON.stringify(run(JSON.parse(given))))

function run({ data, folder, keep, at }: BackupTask): BackupOutcome {
  const now = new Date(at)
  try {
    if (hasBackupOfDay(data, folder, now)) return {}
    return { written: writeDatedBackup(data, folder, { keep, now, tell() {} }) }
  } catch (error) {
    if (error instanceof OperatorError) return { refused: error.message }
    throw error
  }
}
