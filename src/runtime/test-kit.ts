import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Mayfly } from '../../clients/js/src/mayfly.ts'
import { startMayfly as startService } from './embed.ts'

// What the npm package exports as ./test.

export interface TestMayfly {
  url: string
  httpPort: number
  /** Where the program under test sends its mail. */
  smtpPort: number
  client: Mayfly
  /** For one test each: then tests can run at the same time. */
  createMailbox: Mayfly['createMailbox']
  /** Stops the service and deletes its data. */
  stop(): Promise<void>
}

const DEFAULTS = {
  MAYFLY_HOST: '127.0.0.1',
  MAYFLY_HTTP_PORT: '0',
  MAYFLY_SMTP_PORT: '0',
  MAYFLY_DOMAINS: 'mayfly.test',
  MAYFLY_LOG_LEVEL: 'error',
  MAYFLY_RATE_LIMITS: 'off',
  // No DNS queries.
  MAYFLY_AUTH_CHECKS: 'off',
  MAYFLY_DAILY_CHECKS: 'off',
  // They take most of the time of a start.
  MAYFLY_HTTP_THREADS: '1',
  MAYFLY_SMTP_THREADS: '1',
}

/** Starts a whole service in this process, on free ports and with its data in a temporary folder. `settings` are those of `mayfly config`. */
export async function startMayfly(
  settings: Readonly<Record<string, string>> = {},
): Promise<TestMayfly> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-test-'))
  const removeNow = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeNow)
  const service = await startService({ ...DEFAULTS, MAYFLY_DATA: folder, ...settings })
  const { httpPort, smtpPort } = service
  const url = `http://127.0.0.1:${httpPort}`
  const client = new Mayfly({ url })
  return {
    url,
    httpPort,
    smtpPort,
    client,
    createMailbox: (options) => client.createMailbox(options),
    async stop() {
      await service.stop()
      process.off('exit', removeNow)
      await rm(folder, { recursive: true, force: true })
    },
  }
}
