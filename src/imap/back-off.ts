import type { FaultKind } from './fault.ts'
import type { AccountTempo } from './options.ts'

/**
 * How long to wait after the nth failure in a row, in milliseconds: each wait up to twice the one before, by chance less,
 * so that accounts which failed together do not come back together. A limit or a refused login waits its whole first time.
 */
export function pauseAfter(
  kind: FaultKind,
  failures: number,
  { pause, random }: { pause: AccountTempo['pause']; random: number },
): number {
  const slow = kind === 'throttled' || kind === 'login'
  const first = slow ? pause[kind] : pause.lost
  // What is only a network comes back within minutes.
  const longest = slow ? pause.longest : Math.min(pause.longest, 300 * pause.lost)
  const full = Math.min(longest, first * 2 ** Math.min(Math.max(failures - 1, 0), 30))
  return Math.round(slow ? full * (1 + random / 4) : full * (0.5 + random / 2))
}
