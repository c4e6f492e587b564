import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../core/log.ts'
import { logFault } from './outage.ts'

interface RepeatOptions {
  /** Answers whether all of it was done. */
  operation(): Promise<boolean>
  /** What the operator reads when it throws. */
  failed: string
  intervalMs: number
  /** After failures the rest grows up to this. */
  maxIntervalMs: number
  log: Pick<Log, 'error'>
}

/** Repeats the operation until the signal is aborted, and resolves when the last run has ended. */
export async function repeatUntilAborted(ended: AbortSignal, round: RepeatOptions): Promise<void> {
  const { operation, failed, intervalMs, maxIntervalMs, log } = round
  let rest = intervalMs
  while (!ended.aborted) {
    let whole = false
    try {
      whole = await operation()
    } catch (error) {
      if (!ended.aborted) logFault(log, error, failed)
    }
    rest = whole ? intervalMs : Math.min(2 * rest, maxIntervalMs)
    await pause(rest, undefined, { signal: ended }).catch(() => {})
  }
}

/** The result of the promise, or undefined if it takes longer than this. The operation itself goes on. */
export async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
  }
}

interface SweepOptions {
  /** One small step; true when there is more to do. */
  step(): Promise<boolean>
  /** When there is not. */
  idleMs: number
  ended: AbortSignal
  log: Pick<Log, 'error'>
}

// Between two steps of a long sweep the writer belongs to the mail and the requests that wait.
const STEP_PAUSE_MS = 5

/** Clears away what is over, in small steps, until it is told to end. */
export async function runSweep({ step, idleMs, ended, log }: SweepOptions): Promise<void> {
  while (!ended.aborted) {
    let more = false
    try {
      more = await step()
    } catch (error) {
      logFault(log, error, 'the sweep failed and is tried again')
    }
    await pause(more ? STEP_PAUSE_MS : idleMs, undefined, { signal: ended }).catch(() => {})
  }
}
