import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log/log.ts'
import { backoffDelay } from '../time.ts'
import { logFault } from './outage.ts'

interface RepeatOptions {
  /** Its result is false if part of it failed, and `more` if there is more to do right away. */
  operation(): Promise<boolean | 'more'> | Promise<void>
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
    let done: Awaited<ReturnType<RepeatOptions['operation']>> = false
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

/** Runs it until it is stopped. */
export function runUntilStopped(run: (ended: AbortSignal) => Promise<void>) {
  const end = new AbortController()
  const done = run(end.signal)
  return {
    async stop(): Promise<void> {
      end.abort()
      await done
    },
  }
}

/** The result of the promise, or undefined after a timeout. The operation itself continues. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<undefined>((resolve) => {
    // If our own event loop was blocked, the result may have arrived already: setImmediate lets it be read first.
    timer = setTimeout(() => setImmediate(resolve, undefined), ms)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Rejects with the signal's reason if it is aborted first. The operation itself continues. */
export async function unlessAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
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
