import type { Log } from '../../core/log.ts'
import { Problem } from '../../core/problem.ts'
import { logFault } from '../background/outage.ts'

/** Does what needs the payment provider. When that fails, the operator is told why; the caller only hears that it may work later. */
export async function askingProvider<T>(
  log: Pick<Log, 'error'>,
  operation: () => Promise<T>,
): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    if (error instanceof Problem && error.cause !== undefined) {
      logFault(log, error, 'the payment provider did not do as asked')
    }
    throw error
  }
}
