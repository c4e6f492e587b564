import { backoffDelay, withJitter } from '../../../src/base/time.ts'

const BACKOFF = { first: 1, max: 30 }

/** Seconds to wait after this many failures in a row, and at least as long as the server's Retry-After. `random`: 0 to 1. */
export function retryDelaySeconds(failures: number, random: number, retryAfter = 0): number {
  return Math.max(
    withJitter(backoffDelay(failures, BACKOFF), random),
    withJitter(retryAfter, random, 1, 1.1),
  )
}

/** How to end each delay that may be cut short. */
const interruptible = new Set<() => void>()

/** Rejects when the signal is aborted. `isFixed`: not ended by `endDelays`, because the server asked for it. */
export function delay(
  seconds: number,
  signal: AbortSignal,
  { isFixed = false } = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      interruptible.delete(end)
      signal.removeEventListener('abort', abort)
      resolve()
    }
    const abort = () => {
      end()
      reject(signal.reason)
    }
    const timer = setTimeout(end, seconds * 1000)
    if (!isFixed) interruptible.add(end)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort)
  })
}

/** False if there was none to end. */
export function endDelays(): boolean {
  const ends = [...interruptible]
  for (const end of ends) end()
  return ends.length > 0
}
