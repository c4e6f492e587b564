/** How new mail is heard of: as it comes, by questions that wait for it, or by looking from time to time. */
export type Way = 'stream' | 'wait' | 'look'

export interface Rung {
  way: Way
  /** How often this way has failed in a row, while plain questions were answered. */
  failures: number
}

export const TOP: Rung = { way: 'stream', failures: 0 }

const MOST_FAILURES = 2
const BELOW: Record<Way, Way> = { stream: 'wait', wait: 'look', look: 'look' }

/** After a failure: the same once more, then the next plainer way. */
export function afterFailure({ way, failures }: Rung): Rung {
  if (failures + 1 < MOST_FAILURES) return { way, failures: failures + 1 }
  return { way: BELOW[way], failures: 0 }
}

/** Back to the top to see whether what stood in the way is gone; one failure there is enough to come down again. */
export function climbAgain(rung: Rung): Rung {
  return rung.way === 'stream' ? rung : { way: 'stream', failures: MOST_FAILURES - 1 }
}
