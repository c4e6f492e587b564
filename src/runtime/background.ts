import { randomBytes, randomUUID } from 'node:crypto'
import { openRecorder } from '../admin/series/record.ts'
import { type LeaseDeps, runUnderLease } from '../base/jobs/lease.ts'
import { logFault } from '../base/jobs/outage.ts'
import { runSweep, withTimeout } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import { openMailer } from '../base/mailer.ts'
import { type Metric, readMetrics } from '../base/metrics.ts'
import type { SubscribableBus } from '../mail/deps.ts'
import { openLargeReads } from '../mail/read/large-reads.ts'
import type { ParseOnce } from '../mail/read/parse-once.ts'
import { openParsedMail } from '../mail/read/parsed-mail.ts'
import { openStepScheduler } from '../mail/read/step-scheduler.ts'
import type { SweepOptions } from '../mail/store.ts'
import { openPaymentProvider } from '../shop/pay/open.ts'
import { runReceipts } from '../shop/receipts.ts'
import { runReconcile } from '../shop/reconcile.ts'
import type { ShopStore, Store } from '../store/store.ts'
import { openEvents } from '../webhooks/event.ts'
import { openWebhookClient } from '../webhooks/open-client.ts'
import { runWebhooks } from '../webhooks/run-webhooks.ts'
import { type ClockGuard, type ClockSample, guardClock } from './clock-guard.ts'
import type { Config } from './config.ts'
import { OPERATOR_MAIL_MS, usesPostgres } from './stores.ts'

interface JobDeps {
  store: Store
  now(): Date
  log: Log
}

const SWEEP_IDLE_MS = 5_000
const SERIES_SWEEP_MS = 600_000

/** Deletes expired mail and sessions, on one node at a time. */
export function startSweep(config: Config, { store, now, log }: JobDeps) {
  const end = new AbortController()
  const retention = {
    cooldownMs: config.sessions.cooldownMs,
    poolMs: config.pool.ttlMs,
    operatorMs: OPERATOR_MAIL_MS,
    poolOff: config.poolAccess === 'off',
  }
  // On PostgreSQL the sweep never runs ahead of the server's clock.
  const guard = usesPostgres(config) ? undefined : guardClock(systemClocks, log)
  const step = sweepStep(retention, { store, now, guard })
  const seriesStep = seriesSweepStep({ store, now, guard })
  const swept = runUnderLease(
    { store, newHolder: randomUUID, log },
    {
      name: 'sweep',
      operation: async (ended) => {
        await Promise.all([
          runSweep({ step, idleMs: SWEEP_IDLE_MS, ended, log }),
          runSweep({ step: seriesStep, idleMs: SERIES_SWEEP_MS, ended, log }),
        ])
      },
      ended: end.signal,
    },
  )
  return {
    /** For the operator: what prevents the sweep. */
    warnings: (): string[] => [guard?.warning()].filter((text) => text !== undefined),
    async stop(): Promise<void> {
      end.abort()
      await swept
    },
  }
}

interface StepDeps<Method extends keyof Store> {
  store: Pick<Store, Method>
  now(): Date
  guard: Pick<ClockGuard, 'isTrusted'> | undefined
}

/** One small step; true if there is more to do. Does nothing while the clock is not trusted. */
export function sweepStep(
  retention: Omit<SweepOptions, 'now'>,
  { store, now, guard }: StepDeps<'sweep'>,
) {
  return async (): Promise<boolean> => {
    // Read before the guard reads the clocks, so that it sees any jump before this time.
    const time = now()
    if (guard && !guard.isTrusted()) return false
    return await store.sweep({ ...retention, now: time })
  }
}

/** The same for the series, in one step. */
export function seriesSweepStep({ store, now, guard }: StepDeps<'sweepSeries'>) {
  return async (): Promise<boolean> => {
    const time = now()
    if (!guard || guard.isTrusted()) await store.sweepSeries(time)
    return false
  }
}

// Not the clock of the service, which tests move. The monotonic clock of Linux stops while the machine is suspended.
function systemClocks(): ClockSample {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}

const SHOP_SWEEP_MS = 3_600_000

/**
 * Background jobs of the shop, on one node at a time: sweep, process missed provider events, mail receipts. Returns a function
 * that stops them.
 */
export async function startShopJobs(
  { payments, mailOut, http }: Config,
  { store, ...deps }: Omit<JobDeps, 'store'> & { store: LeaseDeps['store']; shop: ShopStore },
): Promise<() => Promise<void>> {
  const end = new AbortController()
  const pay = await openPaymentProvider({ ...payments, now: deps.now })
  const { shop, now, log } = deps
  const step = () => shop.sweepShop(now())
  const send = mailOut.url === '' ? undefined : openMailer(mailOut)

  async function runShopJobs(ended: AbortSignal): Promise<void> {
    const work = [runSweep({ step, idleMs: SHOP_SWEEP_MS, ended, log })]
    if (pay.remote) work.push(runReconcile({ ...deps, pay }, ended))
    if (send) {
      const { baseUrl } = http
      work.push(runReceipts({ ...deps, pay, send, baseUrl, randomBytes }, ended))
    }
    await Promise.all(work)
  }

  const work = { name: 'shop', operation: runShopJobs, ended: end.signal }
  const done = runUnderLease({ store, newHolder: randomUUID, log }, work)
  return async () => {
    end.abort()
    await done
  }
}

interface SeriesJobDeps extends JobDeps {
  readMetrics(): Promise<readonly Metric[]>
}

// A store that is unavailable does not delay the exit.
const LAST_RECORD_MS = 3_000

/** Saves the series of this node. `pause` must be called before the threads close, `finish` afterwards. */
export function startSeries({ readMetrics: read, ...deps }: SeriesJobDeps) {
  const end = new AbortController()
  const recorder = openRecorder({
    ...deps,
    readMetrics: read,
    before: readMetrics(),
    newNode: randomUUID,
  })
  const running = recorder.run(end.signal)
  return {
    async pause(): Promise<void> {
      end.abort()
      await withTimeout(LAST_RECORD_MS, running)
    },
    async finish(): Promise<void> {
      const last = recorder.record().catch((error) => {
        logFault(deps.log, error, 'cannot save the last minute of the series')
      })
      await withTimeout(LAST_RECORD_MS, last)
    },
  }
}

interface WebhookJobDeps extends JobDeps {
  shop: ShopStore
  parse: ParseOnce
  bus: SubscribableBus
}

/** Delivers webhooks, each on one node at a time. Returns a function that stops it. */
export async function startWebhooks(
  { webhooks, senderChecks, payments, poolAccess }: Config,
  { store, shop, parse, bus, now, log }: WebhookJobDeps,
): Promise<() => Promise<void>> {
  const end = new AbortController()
  const { allowed } = webhooks
  const pay = await openPaymentProvider({ ...payments, now })
  const done = runWebhooks({
    store,
    shop,
    bus,
    log,
    now,
    poolAccess,
    event: openEvents(openParsedMail({ store, parse, largeReads: openLargeReads() })),
    steps: openStepScheduler(),
    webhookClient: openWebhookClient({ allowed, dnsServers: senderChecks.dns }),
    installationSecret: await shop.installationSecret(randomBytes(32)),
    random: Math.random,
    newHolder: randomUUID,
    testKeys: pay.mode === 'test',
    ended: end.signal,
  })
  return async () => {
    end.abort()
    await done
  }
}
