const MIN_SECONDS = 1
const MAX_SECONDS = 30

/** How long to leave a server alone after so many misses. `chance` (0 to 1) keeps those who lost it together from coming back together. */
export function backoffSeconds(misses: number, random: number, retryAfter = 0): number {
  const usual = Math.min(MAX_SECONDS, MIN_SECONDS * 2 ** Math.max(0, misses - 1))
  // What the server asked for is the least; a little more, by chance, for the same reason.
  return Math.max(usual * (0.5 + random / 2), retryAfter * (1 + random / 10))
}

/** The pauses that are on and may be cut short, each by what ends it. */
const activeDelays = new Set<() => void>()

/**
 * Waits, until somebody is in a hurry at the latest; a firm one, that the server asked for, to its end. Rejects when the
 * signal is aborted.
 */
export function delay(seconds: number, signal: AbortSignal, { firm = false } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      activeDelays.delete(end)
      signal.removeEventListener('abort', cut)
      resolve()
    }
    const cut = () => {
      end()
      reject(signal.reason)
    }
    const timer = setTimeout(end, seconds * 1000)
    if (!firm) activeDelays.add(end)
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut)
  })
}

/** Ends the pauses that are on; false when there was none. */
export function endDelays(): boolean {
  const ends = [...activeDelays]
  for (const end of ends) end()
  return ends.length > 0
}

/** How new mail is heard of: as it comes, by questions that wait for it, or by looking from time to time. */
export type Transport = 'stream' | 'wait' | 'look'

export interface FallbackState {
  way: Transport
  /** How often this way has failed in a row, while plain questions were answered. */
  failures: number
}

export const INITIAL: FallbackState = { way: 'stream', failures: 0 }

const MAX_FAILURES = 2
const NEXT_TRANSPORT: Record<Transport, Transport> = { stream: 'wait', wait: 'look', look: 'look' }

/** After a failure: the same once more, then the next plainer way. */
export function afterFailure({ way, failures }: FallbackState): FallbackState {
  if (failures + 1 < MAX_FAILURES) return { way, failures: failures + 1 }
  return { way: NEXT_TRANSPORT[way], failures: 0 }
}

/** Back to the top to see whether what stood in the way is gone; one failure there is enough to come down again. */
export function upgrade(rung: FallbackState): FallbackState {
  return rung.way === 'stream' ? rung : { way: 'stream', failures: MAX_FAILURES - 1 }
}

/** How fast many requests may follow each other: so many at once, then so many a second. */
interface Rate {
  burst: number
  perSecond: number
}

/** Half of what the server lets one network ask for: the rest of the page, and other tabs, ask too. */
export const DELETE_RATE: Rate = { burst: 100, perSecond: 25 }

/** Says of each request how many milliseconds it has to wait; asked once for each. */
export function createRateLimiter({ burst, perSecond }: Rate): (now: number) => number {
  let left = burst
  let at: number | undefined

  return (now) => {
    left = Math.min(burst, left + ((now - (at ?? now)) / 1000) * perSecond)
    at = now
    left -= 1
    return left >= 0 ? 0 : (-left / perSecond) * 1000
  }
}
