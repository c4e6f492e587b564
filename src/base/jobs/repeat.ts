import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log/log.ts'
import { backoffDelay } from '../time.ts'
import { logFault } from './outage.ts'

interface RepeatOptions {
  /** False if part of it failed; `more` if there is more to do right away. */
  operation(): Promise<boolean | 'more'>
  failed: string
  intervalMs: number
  /** After failures the interval doubles up to this; default: it stays the same. */
  maxIntervalMs?: number
  log: Pick<Log, 'error'>
}

// Between the steps of a long operation, the writer serves mail and requests.
const STEP_PAUSE_MS = 5

/** Repeats the operation until the signal is aborted, and resolves when the last run has ended. */
export async function repeatUntilAborted(
  ended: AbortSignal,
  { operation, failed, intervalMs, maxIntervalMs = intervalMs, log }: RepeatOptions,
): Promise<void> {
  let failures = 0
  while (!ended.aborted) {
    let done: boolean | 'more' = false
    try {
      done = await operation()
    } catch (error) {
      if (!ended.aborted) logFault(log, error, failed)
    }
    failures = done === false ? failures + 1 : 0
    // The first failure already doubles the interval.
    const ms = backoffDelay(failures + 1, { first: intervalMs, max: maxIntervalMs })
    await pause(done === 'more' ? STEP_PAUSE_MS : ms, undefined, { signal: ended }).catch(() => {})
  }
}

/** The result of the promise, or undefined after a timeout. The operation itself continues. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

// Less than what Prometheus waits for all metrics.
const METRIC_SOURCE_MS = 2_000

/** For metrics, which are most needed then: undefined if it fails or takes long. */
export async function unlessFailing<T>(
  log: Pick<Log, 'error'>,
  read: () => T | Promise<T>,
): Promise<T | undefined> {
  try {
    return await withTimeout(METRIC_SOURCE_MS, Promise.resolve(read()))
  } catch (error) {
    logFault(log, error, 'cannot read some of the metrics')
    return undefined
  }
}

interface SweepLoopOptions {
  /** One small step; true if there is more to do. */
  step(): Promise<boolean>
  idleMs: number
  ended: AbortSignal
  log: Pick<Log, 'error'>
}

/** Deletes expired data in small steps until `ended`. */
export async function runSweep({ step, idleMs, ended, log }: SweepLoopOptions): Promise<void> {
  await repeatUntilAborted(ended, {
    operation: async () => ((await step()) ? 'more' : true),
    failed: 'the sweep failed; retrying',
    intervalMs: idleMs,
    log,
  })
}
