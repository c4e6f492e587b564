import { asError } from '../core/fault.ts'
import type { Log } from '../core/log.ts'
import { Problem } from '../core/problem.ts'

/** Does what needs the payment provider. When that fails, the operator is told why; the caller only hears that it may work later. */
export async function askingProvider<T>(
  log: Pick<Log, 'error'>,
  deed: () => Promise<T>,
): Promise<T> {
  try {
    return await deed()
  } catch (error) {
    if (error instanceof Problem && error.cause !== undefined) {
      log.error({ err: reasonOf(error) }, 'the payment provider did not do as asked')
    }
    throw error
  }
}

/** What the operator should read of a fault: its cause, where it was put into words for the caller. */
export function reasonOf(error: unknown): Error {
  const cause = error instanceof Problem ? error.cause : undefined
  return asError(cause ?? error)
}
