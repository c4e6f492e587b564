import { randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { ClockSample } from '../core/clock-jump.ts'
import type { Log } from '../core/log.ts'
import { type ClockGuard, guardClock } from '../service/background/clock-guard.ts'
import { underLease } from '../service/background/lease.ts'
import { sweepForEver } from '../service/background/sweep.ts'
import type { MailStore, SweepDue } from '../store/store.ts'
import { OPERATOR_MAIL_MS, onPostgres } from './stores.ts'

interface Deps {
  store: MailStore
  now(): Date
  log: Log
}

const REST_MS = 5_000

/** Clears away the mail and the sessions that are over, on one node at a time. */
export function startSweep(config: Config, { store, now, log }: Deps) {
  const end = new AbortController()
  const kept = {
    cooldownMs: config.sessions.cooldownMs,
    poolMs: config.pool.ttlMs,
    operatorMs: OPERATOR_MAIL_MS,
  }
  // On PostgreSQL the sweep never runs ahead of the server's clock.
  const guard = onPostgres(config) ? undefined : guardClock(systemClocks, log)
  const step = sweepStep(kept, { store, now, guard })
  const swept = underLease(
    { store, newHolder: randomUUID, log },
    {
      name: 'sweep',
      operation: (stop) => sweepForEver({ step, restMs: REST_MS, ended: stop, log }),
      ended: end.signal,
    },
  )
  return {
    /** For the operator: what keeps the sweep from working. */
    warnings: (): string[] => [guard?.warning()].filter((text) => text !== undefined),
    async stop(): Promise<void> {
      end.abort()
      await swept
    },
  }
}

interface StepDeps {
  store: Pick<MailStore, 'sweep'>
  now(): Date
  guard: Pick<ClockGuard, 'isTrusted'> | undefined
}

/** One small step; true when there is more to do. It does nothing while the clock is not trusted. */
export function sweepStep(kept: Omit<SweepDue, 'now'>, { store, now, guard }: StepDeps) {
  return async (): Promise<boolean> => {
    // Read before the guard reads the clocks: a jump before this moment is one that it sees.
    const time = now()
    if (guard && !guard.isTrusted()) return false
    return await store.sweep({ ...kept, now: time })
  }
}

// Not the clock of the service, which tests move: then both would have to be moved. The monotonic clock of Linux stands still
// while the machine is suspended.
function systemClocks(): ClockSample {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}
