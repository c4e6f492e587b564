import { openLog } from '../../../src/base/log/open-log.ts'
import type { IdleIntervals } from '../../../src/mail/deps.ts'
import { readConfig } from '../../../src/runtime/config.ts'
import { makeClock, openClock } from '../../../src/runtime/setup.ts'
import { type StartOptions, startService } from '../../../src/runtime/start.ts'
import { PROXY_ENV } from '../http/trusted-proxy.ts'
import { connectSmtp } from '../smtp/smtp-client.ts'
import { storeFor } from '../store/engine.ts'
import { tempFolder } from '../store/stores.ts'

export type App = Awaited<ReturnType<typeof startApp>>

/** The whole service on free ports in a temporary folder, with a clock that can be moved. */
export async function startApp({
  env = {},
  folder = tempFolder(),
  at,
  // Each costs as much as a quarter of the service.
  parsing = { children: 1 },
  acmeLookMs,
  ...forTests
}: AppOptions = {}) {
  const { config: read } = readConfig({
    env: {
      MAYFLY_DATA: folder.path,
      MAYFLY_STORE: await storeFor(folder.path),
      MAYFLY_HTTP_PORT: '0',
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_HOST: '127.0.0.1',
      MAYFLY_DOMAINS: 'box.test,pool.test',
      MAYFLY_READER_DOMAINS: 'pool.test',
      MAYFLY_LOG_LEVEL: 'error',
      // Each costs as much to start as the rest; tests of several threads ask for them.
      MAYFLY_HTTP_THREADS: '1',
      MAYFLY_SMTP_THREADS: '1',
      // Tests of sender checks start a name server of their own.
      MAYFLY_AUTH_CHECKS: 'off',
      ...env,
    },
    file: {},
  })
  // A machine may stall for seconds: only tests of the deadline set a short one.
  const http = { ...read.http, parseDeadlineMs: 120_000, ...forTests }
  const acme = { ...read.acme, lookMs: acmeLookMs ?? read.acme.lookMs }
  const config = { ...read, http, acme }
  const shared = makeClock()
  const clock = openClock(shared)
  if (at) clock.move(Math.round((at.getTime() - Date.now()) / 1_000))
  const log = openLog({ level: config.logLevel, thread: 'main' })
  const service = await startService(config, {
    log,
    clock: shared,
    parsing,
    died: (fault) => {
      throw fault
    },
  })
  const url = `http://127.0.0.1:${service.httpPort}`

  return {
    url,
    httpPort: service.httpPort,
    smtpPort: service.smtpPort,
    folder: folder.path,
    config,
    now: clock.now,
    moveClock: clock.move,
    /** Sends one mail over SMTP; returns the reply code after the final dot. */
    async mail(to: string | string[], raw: string | Uint8Array = MAIL): Promise<number> {
      const client = await connectSmtp(service.smtpPort)
      const { code } = await client.send({ to: [to].flat(), raw })
      client.close()
      return code
    },
    async session(
      params: Record<string, string> = {},
      headers: Record<string, string> = {},
    ): Promise<{ email: string; token: string }> {
      const response = await fetch(`${url}/api/create-session`, {
        method: 'POST',
        headers,
        body: new URLSearchParams(params),
      })
      if (response.status !== 200) throw new Error(await response.text())
      return (await response.json()) as { email: string; token: string }
    },
    async stop() {
      await service.stop()
      folder.remove()
    },
  }
}

const shared = new Map<string, Promise<App>>()

/**
 * One service for all files that run in this process and want these settings; it stops with the process. Its clock is wherever the
 * last file has moved it. Not for tests of what belongs to nobody, such as the pool, the domains or the metrics.
 */
export function sharedApp(env: Record<string, string> = PROXY_ENV): Promise<App> {
  const key = JSON.stringify(env)
  const app = shared.get(key) ?? startSharedApp(env)
  shared.set(key, app)
  // The next file tries again.
  app.catch(() => shared.delete(key))
  return app
}

async function startSharedApp(env: Record<string, string>): Promise<App> {
  const folder = tempFolder()
  process.once('exit', folder.remove)
  process.once('SIGTERM', () => process.exit())
  return await startApp({ env, folder })
}

interface AppOptions {
  env?: Record<string, string>
  folder?: { path: string; remove(): void }
  /** The initial time of the clock; by default the current time. */
  at?: Date
  intervals?: IdleIntervals
  /** Another program or number of parser children, or other limits. */
  parsing?: NonNullable<StartOptions['parsing']>
  /** How long a response waits for data extracted from a mail, such as codes. */
  resultWaitMs?: number
  /** How long a request waits for a mail to be parsed. */
  parseDeadlineMs?: number
  /** How often certificates are looked at. */
  acmeLookMs?: number
}

/** Only the bus wakes waiting clients: there is no polling and no heartbeat. */
export const WITHOUT_POLLING: IdleIntervals = { pollMs: 3_600_000, heartbeatMs: 3_600_000 }

/** Every list and event contains the codes of its mails: no code is added later, so no ETag changes by itself. */
export const WAIT_FOR_EXTRACTION = { resultWaitMs: 3_600_000 }

export const MAIL = [
  'From: Ann Sender <ann@sender.test>',
  'To: you@box.test',
  'Subject: Hello',
  'Message-ID: <1@sender.test>',
  'Date: Sun, 01 Mar 2026 12:00:00 +0000',
  '',
  'Your code is 123456.',
  '',
].join('\r\n')
