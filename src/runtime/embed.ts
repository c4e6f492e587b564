import { openLog } from '../base/log/open-log.ts'
import { readConfig } from './config.ts'
import { startService } from './start.ts'

// What the npm package exports.

export interface Mayfly {
  httpPort: number
  smtpPort: number
  /** Completes mail in progress, then stops. */
  stop(): Promise<void>
}

/**
 * Starts the service in this process, for example in a test suite. Settings have the names that `mayfly config` lists, such as
 * `MAYFLY_DATA`; the environment is not read. Port 0 takes a free port. An unexpected end of a thread is an uncaught exception.
 */
export async function startMayfly(settings: Readonly<Record<string, string>>): Promise<Mayfly> {
  const { config } = readConfig({ env: { ...settings }, file: {} })
  const { httpPort, smtpPort, stop } = await startService(config, {
    log: openLog({ level: config.logLevel, thread: 'main' }),
    died(fault) {
      queueMicrotask(() => {
        throw fault
      })
    },
  })
  return { httpPort, smtpPort, stop }
}
