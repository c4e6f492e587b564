import { setTimeout as pause } from 'node:timers/promises'
import type { CheckStatus } from '../base/check-result.ts'
import {
  acquireLease,
  type LeaseStore,
  type LeaseTiming,
  untilAborted,
} from '../base/jobs/lease.ts'
import { logFault } from '../base/jobs/outage.ts'
import { repeatUntilAborted, withTimeout } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import { Problem, shuttingDown } from '../base/problem.ts'
import type { CheckRun, FinishedCheck } from './rules/result.ts'
import { type Check, runChecks } from './run-checks.ts'
import type { CheckRunStore } from './store.ts'

export interface CheckRunDeps {
  store: CheckRunStore & LeaseStore
  /** A new list for each run. */
  openChecks(): Promise<readonly Check[]>
  log: Pick<Log, 'info' | 'warn' | 'error'>
  now(): Date
  timing?: LeaseTiming
}

export interface CheckProgress {
  done: number
  all: number
}

const DAY_MS = 86_400_000
const LOOK_MS = 600_000
// Until a proxy and the other nodes have started too.
const FIRST_MS = 300_000
const STOP_TIMEOUT_MS = 3_000

/** When the daily checks are due again, after this run. */
export function nextCheckAt({ finishedAt }: Pick<CheckRun, 'finishedAt'>): Date {
  return new Date(finishedAt.getTime() + DAY_MS)
}

/** There are no results of the last 24 hours, or the clock was wrong. */
function isDue(last: CheckRun | undefined, now: Date): boolean {
  return !last || now >= nextCheckAt(last) || now < last.finishedAt
}

/** Runs the checks if they are due. Rejects if it was stopped. */
export async function checkIfDue(deps: CheckRunDeps, stop: AbortSignal): Promise<void> {
  const isWanted = (last: CheckRun | undefined) => isDue(last, deps.now())
  // Again under the lease: another node may have run them meanwhile.
  if (isWanted(await deps.store.readCheckRun())) await runChecksNow(deps, stop, { isWanted })
}

/**
 * Runs the checks and saves the results. False if a run is in progress, on any node, or if none is wanted. Logs every check that
 * has turned. Rejects if it was stopped.
 */
export async function runChecksNow(
  deps: CheckRunDeps,
  stop: AbortSignal,
  { report = () => {}, isWanted = () => true }: RunOptions = {},
): Promise<boolean> {
  const { store, openChecks, log, now } = deps
  const lease = await acquireLease(deps, 'check run')
  if (!lease) return false
  let [hasBegun, hasRun] = [false, false]
  await lease.runWhileHeld(async (end) => {
    hasBegun = true
    const last = await store.readCheckRun()
    if (!isWanted(last)) return
    const list = await openChecks()
    const all = list.length
    report({ done: 0, all })
    const onProgress = (pending: readonly Check[]) => report({ done: all - pending.length, all })
    const finished = await runChecks(list, { stop: end, onProgress })
    const finishedAt = now()
    const checks = finished.map((check) => {
      const before = last?.checks.find(
        ({ name, subject }) => name === check.name && subject === check.subject,
      )
      if (before?.status === check.status) return { ...check, since: before.since }
      logTurn(log, check, before?.status)
      return { ...check, since: finishedAt }
    })
    await store.saveCheckRun({ finishedAt, checks })
    hasRun = true
  }, stop)
  if (!hasBegun) stop.throwIfAborted()
  if (!hasBegun) throw new Error('the lease of the checks ended before they began')
  return hasRun
}

interface RunOptions {
  report?(progress: CheckProgress): void
  isWanted?(last: CheckRun | undefined): boolean
}

const isWrong = (status: CheckStatus = 'ok') => status === 'warning' || status === 'failure'

/** Without the fix: logs are redacted, so records and addresses in it would not be those to use. */
function logTurn(
  log: CheckRunDeps['log'],
  { name: check, subject, status, seen }: FinishedCheck,
  before: CheckStatus | undefined,
): void {
  if (isWrong(status)) {
    const facts = { check, subject, status, seen }
    log.warn(facts, 'a check found a problem; mayfly doctor prints the fix')
  } else if (isWrong(before)) {
    log.info({ check, subject, status }, 'a check does not find a problem any more')
  }
}

interface StartOptions {
  /** Only on request otherwise. */
  isDaily: boolean
  /** Only tests set it. */
  firstMs?: number
}

/** The checks of `mayfly doctor`: daily, on one node at a time, and when the operator asks for them. */
export function startChecks(deps: CheckRunDeps, { isDaily, firstMs = FIRST_MS }: StartOptions) {
  const { log } = deps
  const end = new AbortController()
  const stopped = untilAborted(end.signal)
  let requested: Promise<boolean> | undefined
  let progress: CheckProgress | undefined

  async function runDaily(): Promise<void> {
    await pause(firstMs, undefined, { signal: end.signal }).catch(() => {})
    await repeatUntilAborted(end.signal, {
      operation: () => checkIfDue(deps, end.signal),
      failed: 'the daily checks failed; retrying',
      intervalMs: LOOK_MS,
      log,
    })
  }
  const daily = isDaily ? runDaily() : undefined

  async function run(): Promise<boolean> {
    try {
      return await runChecksNow(deps, end.signal, { report: (next) => (progress = next) })
    } catch (error) {
      if (end.signal.aborted) return false
      // Also logged, because the response waits for a limited time only.
      logFault(log, error, 'the requested checks failed')
      throw error
    } finally {
      requested = undefined
      progress = undefined
    }
  }

  return {
    commands: {
      /** Resolves with the end of the run. */
      async runChecks(): Promise<void> {
        if (end.signal.aborted) throw shuttingDown()
        if (requested !== undefined) throw alreadyRunning()
        requested = run()
        // Checks that were stopped may take a moment to end.
        const hasRun = await Promise.race([requested, stopped])
        if (end.signal.aborted) throw shuttingDown()
        if (!hasRun) throw alreadyRunning()
      },
      /** Progress of a run that was requested from this node. */
      checkProgress: (): CheckProgress | undefined => progress,
    },
    async stop(): Promise<void> {
      end.abort()
      await withTimeout(STOP_TIMEOUT_MS, Promise.allSettled([daily, requested]))
    },
  }
}

const alreadyRunning = () => new Problem('already_running', 'The checks are already running.')
