import { acquireLease, type LeaseDeps } from '../../base/jobs/lease.ts'
import { repeatUntilAborted } from '../../base/jobs/repeat.ts'
import type { Log } from '../../base/log/log.ts'
import type { CheckRun, FinishedCheck } from '../rules/result.ts'
import type { CheckRunStore } from '../store.ts'
import { runChecks } from './checks.ts'
import type { Check } from './context.ts'

export interface DailyChecksDeps extends LeaseDeps {
  store: CheckRunStore & LeaseDeps['store']
  /** A new list for each run. */
  openChecks(): Promise<readonly Check[]>
  log: Pick<Log, 'info' | 'warn' | 'error'>
  now(): Date
}

const DAY_MS = 86_400_000
const LOOK_MS = 600_000

/** The results of the last run, of whichever node. Undefined before the first. */
export function lastCheckRun({ store }: { store: Pick<CheckRunStore, 'readCheckRun'> }) {
  return store.readCheckRun()
}

/** When the daily checks are due again, after this run. */
export function nextCheckAt({ finishedAt }: Pick<CheckRun, 'finishedAt'>): Date {
  return new Date(finishedAt.getTime() + DAY_MS)
}

/** Runs the checks once a day until `ended`; on one node at a time, under a lease. */
export async function runDailyChecks(deps: DailyChecksDeps, ended: AbortSignal): Promise<void> {
  await repeatUntilAborted(ended, {
    operation: async () => {
      await checkIfDue(deps, ended)
      return true
    },
    failed: 'the daily checks failed; retrying',
    intervalMs: LOOK_MS,
    log: deps.log,
  })
}

/** Runs the checks unless there are results of the last 24 hours. Rejects if it was stopped. */
export async function checkIfDue(deps: DailyChecksDeps, stop: AbortSignal): Promise<void> {
  const last = await deps.store.readCheckRun()
  const age = last ? deps.now().getTime() - last.finishedAt.getTime() : DAY_MS
  // Negative if the clock was wrong.
  if (age < 0 || age >= DAY_MS) await runChecksNow(deps, stop)
}

// A lease of its own: the node that runs the daily checks keeps its lease all the time.
const RUN_LEASE = 'check run'

export interface CheckProgress {
  done: number
  all: number
}

/**
 * Runs the checks and saves the results. False if a run is in progress, on any node. Logs every check that has turned. Rejects
 * if it was stopped.
 */
export async function runChecksNow(
  deps: DailyChecksDeps,
  stop: AbortSignal,
  report: (progress: CheckProgress) => void = () => {},
): Promise<boolean> {
  const lease = await acquireLease(deps, RUN_LEASE)
  await lease?.runWhileHeld((end) => checkAll(deps, end, report), stop)
  return lease !== undefined
}

async function checkAll(
  { store, openChecks, log, now }: DailyChecksDeps,
  stop: AbortSignal,
  report: (progress: CheckProgress) => void,
): Promise<void> {
  const last = await store.readCheckRun()
  const list = await openChecks()
  report({ done: 0, all: list.length })
  const finished = await runChecks(list, {
    stop,
    onProgress: (pending) => report({ done: list.length - pending.length, all: list.length }),
  })
  const finishedAt = now()
  const checks = finished.map((check) => {
    const before = last?.checks.find((one) => isSame(one, check))
    if (before?.status === check.status) return { ...check, since: before.since }
    logTurn(log, check, before?.status)
    return { ...check, since: finishedAt }
  })
  await store.saveCheckRun({ finishedAt, checks })
}

function isSame(one: FinishedCheck, other: FinishedCheck): boolean {
  return one.name === other.name && one.subject === other.subject
}

const isWrong = (status: FinishedCheck['status'] | undefined) =>
  status === 'warning' || status === 'failure'

/** Without the fix: logs are redacted, so records and addresses in it would not be those to use. */
function logTurn(
  log: DailyChecksDeps['log'],
  { name: check, subject, status, seen }: FinishedCheck,
  before: FinishedCheck['status'] | undefined,
): void {
  if (isWrong(status)) {
    log.warn(
      { check, subject, status, seen },
      'a check found a problem; mayfly doctor prints the fix',
    )
  } else if (isWrong(before)) {
    log.info({ check, subject, status }, 'a check does not find a problem any more')
  }
}
