import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type LeaseTiming, runUnderLease, untilAborted } from '../base/jobs/lease.ts'
import { logFault } from '../base/jobs/outage.ts'
import { withTimeout } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import { Problem } from '../base/problem.ts'
import { type CheckProgress, runChecksNow, runDailyChecks } from '../doctor/checks/daily-checks.ts'
import type { Store } from '../store/store.ts'
import type { Config } from './config.ts'

export interface DailyCheckDeps {
  store: Store
  log: Log
  now(): Date
  /** All settings and their origin; undefined if a program passed them. */
  settings?: readonly { name: string; origin: string }[] | undefined
  /** Only tests set these. */
  firstMs?: number
  timing?: LeaseTiming
}

// Until a proxy and the other nodes have started too.
const FIRST_MS = 300_000
const STOP_TIMEOUT_MS = 3_000

/** The checks of `mayfly doctor`: daily, on one node at a time, unless that is off, and when the operator asks for them. */
export function startChecks(
  config: Config,
  { store, log, now, settings, firstMs = FIRST_MS, timing }: DailyCheckDeps,
) {
  const end = new AbortController()
  const stopped = untilAborted(end.signal)
  let requested: Promise<boolean> | undefined
  let progress: CheckProgress | undefined

  async function openChecks() {
    // Loaded when needed: nothing else of the service uses the probes.
    const [{ openCheckContext, settingsReport }, { listChecks }] = await Promise.all([
      import('./checks.ts'),
      import('../doctor/checks/checks.ts'),
    ])
    const report = settings && settingsReport(settings, process.env)
    const facts = { log, settingsReport: report, store, storeFault: undefined }
    return listChecks(await openCheckContext(config, facts))
  }

  const deps = {
    store,
    openChecks,
    log,
    now,
    newHolder: randomUUID,
    ...(timing ? { timing } : {}),
  }
  const daily = {
    name: 'checks',
    operation: async (stop: AbortSignal) => {
      await pause(firstMs, undefined, { signal: stop }).catch(() => {})
      await runDailyChecks(deps, stop)
    },
    ended: end.signal,
  }
  const done = config.dailyChecks ? runUnderLease(deps, daily) : undefined

  /** Resolves with the end of the run. */
  async function runNow(): Promise<void> {
    if (end.signal.aborted) throw shuttingDown()
    if (requested !== undefined) throw alreadyRunning()
    requested = runChecksNow(deps, end.signal, (next) => {
      progress = next
    }).finally(() => {
      requested = undefined
      progress = undefined
    })
    // Checks that were stopped may take a moment to end.
    const hasRun = await Promise.race([requested.catch(logFailure), stopped])
    if (end.signal.aborted) throw shuttingDown()
    if (!hasRun) throw alreadyRunning()
  }

  /** Also logged, because the response waits for a limited time only. */
  function logFailure(error: unknown): undefined {
    if (end.signal.aborted) return undefined
    logFault(log, error, 'the requested checks failed')
    throw error
  }

  return {
    commands: {
      runChecks: runNow,
      /** Of a run that was requested from this node. */
      checkProgress: (): CheckProgress | undefined => progress,
    },
    async stop(): Promise<void> {
      end.abort()
      await done
      if (requested !== undefined) await withTimeout(STOP_TIMEOUT_MS, requested).catch(() => {})
    },
  }
}

function alreadyRunning(): Problem {
  return new Problem('already_running', 'The checks are already running.')
}

function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The service is shutting down.', 1)
}
