import type { Log } from '../core/log.ts'

// Longer than a restart of the store takes to be noticed by everybody, shorter than two outages are apart.
const SPELL_MS = 30_000

/** Called by whoever finds the store away. The log hears of it once, for as long as it keeps happening. */
export function outageTeller(
  log: Pick<Log, 'warn'>,
  clock: () => number = () => performance.now(),
): () => void {
  let lastAt = Number.NEGATIVE_INFINITY
  return () => {
    const isNew = clock() - lastAt > SPELL_MS
    lastAt = clock()
    if (isNew) log.warn({}, 'the store cannot be reached; who asks is told to come back')
  }
}
