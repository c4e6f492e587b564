import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { repeatUntilAborted, runUntilStopped } from '../../base/jobs/repeat.ts'
import type { Log } from '../../base/log/log.ts'
import { OperatorError } from '../../base/problem.ts'
import type { BackupOutcome, BackupTask } from './child.ts'

interface JobDeps {
  config: { data: string; backup: { folder: string; keep: number } }
  now(): Date
  log: Pick<Log, 'info' | 'error'>
}

// Not while the service starts.
const FIRST_MS = 60_000
const LOOK_MS = 600_000
const MAX_RETRY_MS = 3_600_000
const PROGRAM = fileURLToPath(new URL('./child.ts', import.meta.url))

/** A backup each day, in UTC: the first look of a day makes it. The lock of the data folder allows one service, so there is one of these. */
export function startBackups({ config, now, log }: JobDeps, { firstMs = FIRST_MS } = {}) {
  const { data, backup } = config
  if (backup.folder === '') return { stop: async () => {} }
  let lastDay = ''

  async function backUpIfDue(ended: AbortSignal): Promise<void> {
    const time = now()
    const day = time.toISOString().slice(0, 10)
    if (day === lastDay) return
    const task: BackupTask = { data, ...backup, at: time.getTime() }
    const { written, refused } = await runTask(task, ended)
    if (refused !== undefined) throw new OperatorError(refused)
    if (written) {
      const { file, bytes, deleted } = written
      log.info({ file, bytes, deleted: deleted.length }, 'backup written and verified')
    }
    lastDay = day
  }

  return runUntilStopped(async (ended) => {
    await pause(firstMs, undefined, { signal: ended }).catch(() => {})
    await repeatUntilAborted(ended, {
      operation: () => backUpIfDue(ended),
      failed: 'the daily backup failed; retrying',
      intervalMs: LOOK_MS,
      maxIntervalMs: MAX_RETRY_MS,
      log,
    })
  })
}

/** A stop kills it: what it leaves behind is deleted a day later. */
async function runTask(task: BackupTask, signal: AbortSignal): Promise<BackupOutcome> {
  const args = [PROGRAM, JSON.stringify(task)]
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal })
  return JSON.parse(stdout)
}
