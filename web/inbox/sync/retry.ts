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

export type Transport = 'stream' | 'long-poll' | 'poll'

export interface FallbackState {
  transport: Transport
  /** Failures in a row of this transport, while plain requests succeeded. */
  failures: number
}

export const INITIAL: FallbackState = { transport: 'stream', failures: 0 }

const MAX_FAILURES = 2
const NEXT_TRANSPORT: Record<Transport, Transport> = {
  stream: 'long-poll',
  'long-poll': 'poll',
  poll: 'poll',
}

/** The same transport once more, then the next simpler one. */
export function afterFailure({ transport, failures }: FallbackState): FallbackState {
  if (failures + 1 < MAX_FAILURES) return { transport, failures: failures + 1 }
  return { transport: NEXT_TRANSPORT[transport], failures: 0 }
}

/** Tries the stream again; a single failure falls back. */
export function upgrade(state: FallbackState): FallbackState {
  return state.transport === 'stream' ? state : { transport: 'stream', failures: MAX_FAILURES - 1 }
}
