import type { Awaitable } from '../awaitable.ts'
import type { Log, LogFacts } from '../log/log.ts'
import { Problem, StoreUnavailable, toError } from '../problem.ts'

export type ReportOutage = (found: StoreUnavailable | { reason: string }) => void

// Longer than all threads need to notice a restart of the store, shorter than the time between two outages.
const SAME_OUTAGE_MS = 30_000

/** Called whenever the store is found unavailable; logs once per outage. */
export function outageReporter(
  log: Pick<Log, 'warn'>,
  clock: () => number = () => performance.now(),
): ReportOutage {
  let lastAt = Number.NEGATIVE_INFINITY
  return (found) => {
    const isNew = clock() - lastAt > SAME_OUTAGE_MS
    lastAt = clock()
    const reason = 'reason' in found ? found.reason : outageCause(found)
    if (isNew) log.warn({ reason }, 'the store is unavailable; clients are asked to retry')
  }
}

/** If all addresses of a name refuse, the error has no message of its own. */
export function outageCause({ cause }: Pick<Problem, 'cause'>): string {
  const error = toError(cause)
  return error.message || ('code' in error ? String(error.code) : error.name)
}

/** For the operator: names the cause of an outage, which other clients do not see. Other errors are returned as they are. */
export function withCause(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable)) return error
  const message = `The store is unavailable: ${outageCause(error)}`
  return new StoreUnavailable(toError(error.cause), message)
}

/**
 * Logs an error that no client sees; of a Problem, its cause. Ignores an unavailable store, which outageReporter logs once.
 */
export function logFault(
  log: Pick<Log, 'error'>,
  error: unknown,
  message: string,
  facts: LogFacts = {},
): void {
  if (error instanceof StoreUnavailable) return
  const cause = error instanceof Problem ? error.cause : undefined
  log.error({ ...facts, err: toError(cause ?? error) }, message)
}

/** Why the service is not ready; undefined if it is. */
export async function notReadyReason({
  store,
}: {
  store: { storageFault(): Awaitable<{ reason: string } | undefined> }
}) {
  return (await store.storageFault())?.reason
}

/** Undefined while the store is unavailable. */
export async function unlessUnavailable<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined
    throw error
  }
}
