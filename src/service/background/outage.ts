import type { Log, LogFacts } from '../../core/log.ts'
import { Problem, StoreUnavailable, toError } from '../../core/problem.ts'
import type { MailStore } from '../../store/store.ts'

/** Hears what was found out about it. */
export type ReportOutage = (found: StoreUnavailable | { reason: string }) => void

// Longer than a restart of the store takes to be noticed by everybody, shorter than two outages are apart.
const SAME_OUTAGE_MS = 30_000

/** Called by whoever finds the store away. The log hears of it once, for as long as it keeps happening. */
export function outageReporter(
  log: Pick<Log, 'warn'>,
  clock: () => number = () => performance.now(),
): ReportOutage {
  let lastAt = Number.NEGATIVE_INFINITY
  return (found) => {
    const isNew = clock() - lastAt > SAME_OUTAGE_MS
    lastAt = clock()
    const reason = 'reason' in found ? found.reason : causeOf(found)
    if (isNew) log.warn({ reason }, 'the store cannot be reached; who asks is told to come back')
  }
}

/** Of several addresses of one name that all refuse, the error has no text of its own. */
function causeOf({ cause }: StoreUnavailable): string {
  const error = toError(cause)
  return error.message || ('code' in error ? String(error.code) : error.name)
}

/**
 * Tells the operator of a fault that nobody is answered with: its cause, where it was put into words for a caller. Of a
 * store that is away the doors tell, once.
 */
export function logFault(
  log: Pick<Log, 'error'>,
  error: unknown,
  sentence: string,
  facts: LogFacts = {},
): void {
  if (error instanceof StoreUnavailable) return
  const cause = error instanceof Problem ? error.cause : undefined
  log.error({ ...facts, err: toError(cause ?? error) }, sentence)
}

export interface ReadinessDeps {
  store: Pick<MailStore, 'obstacle'>
}

/** Why we cannot do our work right now; undefined when we can. */
export async function notReadyReason({ store }: ReadinessDeps): Promise<string | undefined> {
  return (await store.obstacle())?.reason
}
