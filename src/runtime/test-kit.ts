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
  /** Undefined without `key: true`. */
  apiKey: string | undefined
  /** With the key, if there is one. */
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
  // Receivers of webhooks run beside the tests.
  MAYFLY_WEBHOOK_ALLOW: '127.0.0.1,::1,localhost',
  // The shortest delay that it takes.
  MAYFLY_WEBHOOK_RETRIES: '1s',
  // They take most of the time of a start.
  MAYFLY_HTTP_THREADS: '1',
  MAYFLY_SMTP_THREADS: '1',
}

export interface TestSettings {
  /** Whether to issue an API key. */
  key?: boolean
  /** A setting that `mayfly config` lists. */
  readonly [name: `MAYFLY_${string}`]: string
}

/** Starts a whole service in this process, on free ports and with its data in a temporary folder. */
export function startMayfly(
  settings: TestSettings & { key: true },
): Promise<TestMayfly & { apiKey: string }>
export function startMayfly(settings?: TestSettings): Promise<TestMayfly>
export async function startMayfly({ key, ...given }: TestSettings = {}): Promise<TestMayfly> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-test-'))
  removeAtExit(folder)
  const settings = { ...DEFAULTS, MAYFLY_DATA: folder, ...given }
  const closers = [() => removeFolder(folder)]
  const stop = async () => {
    for (const close of closers.toReversed()) await close()
  }
  try {
    const service = await startService(settings)
    closers.push(service.stop)
    const { httpPort, smtpPort } = service
    const url = `http://127.0.0.1:${httpPort}`
    const apiKey = key ? await issueKey(settings) : undefined
    const client = new Mayfly({ url, apiKey })
    const createMailbox: Mayfly['createMailbox'] = (options) => client.createMailbox(options)
    return { url, httpPort, smtpPort, apiKey, client, createMailbox, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function issueKey(settings: Readonly<Record<string, string>>): Promise<string> {
  const { issueTestKey } = await import('./test-key.ts')
  return await issueTestKey(settings)
}

/** Of services that run. */
const folders = new Set<string>()
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function removeAtExit(folder: string): void {
  if (folders.size === 0) {
    process.on('exit', removeFoldersNow)
    for (const signal of SIGNALS) process.on(signal, exitBySignal)
  }
  folders.add(folder)
}

async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  folders.delete(folder)
  if (folders.size === 0) stopListening()
}

function stopListening(): void {
  process.off('exit', removeFoldersNow)
  for (const signal of SIGNALS) process.off(signal, exitBySignal)
}

function removeFoldersNow(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

function exitBySignal(signal: NodeJS.Signals): void {
  // Whoever else listens decides whether the process exits.
  if (process.listenerCount(signal) > 1) return
  removeFoldersNow()
  stopListening()
  process.kill(process.pid, signal)
}
