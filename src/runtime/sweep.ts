import type { Awaitable } from '../base/awaitable.ts'
import { runUnderLease } from '../base/jobs/lease.ts'
import { runSweep, runUntilStopped } from '../base/jobs/repeat.ts'
import type { Log } from '../base/log/log.ts'
import type { ShopStore, Store } from '../store/store.ts'
import { type ClockGuard, type ClockSample, guardClock } from './clock-guard.ts'
import type { Config } from './config.ts'
import { sweeps } from './jobs.ts'
import { OPERATOR_MAIL_MS, storeFolder } from './stores.ts'

interface SweepDeps {
  config: Config
  store: Store
  shop: Pick<ShopStore, 'sweepShop'>
  now(): Date
  log: Log
}

const MAIL_IDLE_MS = 5_000
const SHOP_IDLE_MS = 3_600_000

/** Deletes expired data, on one node at a time. */
export function startSweep({ config, store, shop, now, log }: SweepDeps) {
  const retention = {
    cooldownMs: config.sessions.cooldownMs,
    poolMs: config.pool.ttlMs,
    operatorMs: OPERATOR_MAIL_MS,
    ownMs: config.ownDomains.mailTtlMs,
    mailLogMs: config.mailLog.keptMs,
    poolOff: config.poolAccess === 'off',
  }
  // A database server has a clock of its own.
  const guard = storeFolder(config) === undefined ? undefined : guardClock(systemClocks, log)
  const run = (
    ended: AbortSignal,
    { idleMs, step }: { idleMs: number; step(time: Date): Promise<boolean> },
  ) => runSweep({ step: sweepStep(step, { store, now, guard }), idleMs, ended, log })
  const operation = async (ended: AbortSignal) => {
    await Promise.all([
      run(ended, {
        idleMs: MAIL_IDLE_MS,
        step: (time) => store.sweep({ ...retention, now: time }),
      }),
      run(ended, { idleMs: SHOP_IDLE_MS, step: (time) => shop.sweepShop(time) }),
      ...Object.values(sweeps).map(({ idleMs, step }) =>
        run(ended, { idleMs, step: (time) => step(store, time) }),
      ),
    ])
  }
  const { stop } = runUntilStopped((ended) =>
    runUnderLease({ store, log }, { name: 'sweep', operation, ended }),
  )
  return {
    stop,
    /** For the operator: what prevents the sweep. */
    warnings: (): string[] => [guard?.warning()].filter((text) => text !== undefined),
  }
}

interface StepDeps {
  store: { clampTime(now: Date): Awaitable<Date> }
  now(): Date
  guard: Pick<ClockGuard, 'isTrusted'> | undefined
}

/** One small step; true if there is more to do. Does nothing while the clock is not trusted. */
export function sweepStep(
  step: (time: Date) => Promise<boolean>,
  { store, now, guard }: StepDeps,
): () => Promise<boolean> {
  return async () => {
    // Read before the guard reads the clocks, so that it sees any jump before this time.
    const time = now()
    if (guard && !guard.isTrusted()) return false
    return await step(await store.clampTime(time))
  }
}

// Not the clock of the service, which tests move. The monotonic clock of Linux stops while the machine is suspended.
function systemClocks(): ClockSample {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}
