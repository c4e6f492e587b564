import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
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
  const unknown = Object.keys(given).find((name) => !name.startsWith('MAYFLY_'))
  if (unknown !== undefined) throw new TypeError(`Unknown option: ${unknown}`)
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-test-'))
  const settings = { ...DEFAULTS, MAYFLY_DATA: folder, ...given }
  const closers = [removeAtExit(folder)]
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

/** Data of services that run. */
const folders = new Set<string>()

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
}

/** Deletes the folder also if this process ends before `stop`; returns how to delete it now. */
function removeAtExit(folder: string): () => Promise<void> {
  if (folders.size === 0) process.on('exit', removeFolders)
  folders.add(folder)
  const guard = startGuard(folder)
  return async () => {
    await rm(folder, { recursive: true, force: true })
    folders.delete(folder)
    if (folders.size === 0) process.off('exit', removeFolders)
    guard.stdin.end()
  }
}

/** Test runners kill their workers: a process deletes the folder when our end of its pipe is closed. Ctrl-C does not reach it. */
function startGuard(folder: string) {
  const guard = spawn('sh', ['-c', 'cat; rm -rf "$0"', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  for (const emitter of [guard, guard.stdin]) emitter.on('error', () => {})
  guard.unref()
  if (guard.stdin instanceof Socket) guard.stdin.unref()
  return guard
}
