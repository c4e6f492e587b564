import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../core/log.ts'
import { logFault } from './outage.ts'

interface Round {
  /** Answers whether all of it was done. */
  operation(): Promise<boolean>
  /** What the operator reads when it throws. */
  failed: string
  restMs: number
  /** After failures the rest grows up to this. */
  longestMs: number
  log: Pick<Log, 'error'>
}

/** Repeats the operation until the signal is aborted, and resolves when the last run has ended. */
export async function repeatUntilAborted(ended: AbortSignal, round: Round): Promise<void> {
  const { operation, failed, restMs, longestMs, log } = round
  let rest = restMs
  while (!ended.aborted) {
    let whole = false
    try {
      whole = await operation()
    } catch (error) {
      if (!ended.aborted) logFault(log, error, failed)
    }
    rest = whole ? restMs : Math.min(2 * rest, longestMs)
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
