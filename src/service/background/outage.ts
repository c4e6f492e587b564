import { asError } from '../../core/fault.ts'
import type { Log } from '../../core/log.ts'
import type { StoreAway } from '../../core/problem.ts'

/** Hears what was found out about it. */
export type TellOutage = (found: StoreAway | { reason: string }) => void

// Longer than a restart of the store takes to be noticed by everybody, shorter than two outages are apart.
const SPELL_MS = 30_000

/** Called by whoever finds the store away. The log hears of it once, for as long as it keeps happening. */
export function outageTeller(
  log: Pick<Log, 'warn'>,
  clock: () => number = () => performance.now(),
): TellOutage {
  let lastAt = Number.NEGATIVE_INFINITY
  return (found) => {
    const isNew = clock() - lastAt > SPELL_MS
    lastAt = clock()
    const reason = 'reason' in found ? found.reason : causeOf(found)
    if (isNew) log.warn({ reason }, 'the store cannot be reached; who asks is told to come back')
  }
}

/** Of several addresses of one name that all refuse, the error has no text of its own. */
function causeOf({ cause }: StoreAway): string {
  const error = asError(cause)
  return error.message || ('code' in error ? String(error.code) : error.name)
}
