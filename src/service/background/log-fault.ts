import { asError } from '../../core/fault.ts'
import type { Log, LogFacts } from '../../core/log.ts'
import { Problem, StoreAway } from '../../core/problem.ts'

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
  if (error instanceof StoreAway) return
  const cause = error instanceof Problem ? error.cause : undefined
  log.error({ ...facts, err: asError(cause ?? error) }, sentence)
}
