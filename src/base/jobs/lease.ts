import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log/log.ts'
import { logFault } from './outage.ts'
import { withTimeout } from './repeat.ts'

export interface LeaseStore {
  /** True if the holder now has the lease, for `ms` by the store's clock; it renews it the same way. False if another holder has it. */
  acquireLease(lease: Lease): Promise<boolean>
  /** Does nothing if another holder has it. */
  releaseLease(name: string, holder: string): Promise<void>
}

export interface LeaseDeps {
  store: LeaseStore
  log: Pick<Log, 'warn' | 'error'>
  timing?: LeaseTiming
}

export interface LeaseTiming {
  /** How long a lease lasts without renewal. */
  ttlMs: number
  renewMs: number
  /** Time left of it for the operation to stop. */
  stopMarginMs: number
  /** Between attempts to take or to renew a lease. */
  retryMs: number
  /** How long a stop waits for an operation that hangs. */
  stopTimeoutMs: number
}

// If the holder dies right after a renewal, the next one takes over 18 s later at the latest.
export const DEFAULT_TIMING: LeaseTiming = {
  ttlMs: 15_000,
  renewMs: 5_000,
  stopMarginMs: 3_000,
  retryMs: 3_000,
  stopTimeoutMs: 3_000,
}

/** Runs until the signal is aborted, and resolves when it has stopped completely. */
type LeasedOperation = (stop: AbortSignal) => Promise<void>

/**
 * Runs the operation whenever this node gets the lease, until `ended`. An operation that hangs at that point is abandoned, and
 * the lease expires.
 */
export async function runUnderLease(
  deps: LeaseDeps,
  { name, operation, ended }: { name: string; operation: LeasedOperation; ended: AbortSignal },
): Promise<void> {
  if (ended.aborted) return
  const { log, timing = DEFAULT_TIMING } = deps

  async function repeatOperation(): Promise<void> {
    while (!ended.aborted) {
      try {
        const lease = await acquireLease(deps, name)
        await lease?.runWhileHeld(operation, ended)
      } catch (error) {
        if (!ended.aborted)
          logFault(log, error, 'an operation under a lease failed; retrying', { lease: name })
      }
      await rest(timing.retryMs, ended)
    }
  }
  const done = repeatOperation()
  await untilAborted(ended)
  await withTimeout(timing.stopTimeoutMs, done)
}

interface HeldLease {
  /** Runs the operation while renewing the lease, until `ended` or the lease is lost; then releases the lease. */
  runWhileHeld(operation: LeasedOperation, ended: AbortSignal): Promise<void>
}

/** Tries once; undefined if another node holds it. */
export async function acquireLease(deps: LeaseDeps, name: string): Promise<HeldLease | undefined> {
  const { store, log, timing = DEFAULT_TIMING } = deps
  // A new name each time: a request under the previous one may reach the store late.
  const holder = randomUUID()

  /** When the operation has to stop, counted from before the request, so that the lease lasts longer by the store's clock. */
  async function request(): Promise<number | undefined> {
    const stopAt = performance.now() + timing.ttlMs - timing.stopMarginMs
    return (await store.acquireLease({ name, holder, ms: timing.ttlMs })) ? stopAt : undefined
  }

  /** Until the operation ends or the lease is lost. */
  async function renew(firstStop: number, lost: AbortController, over: AbortSignal): Promise<void> {
    const lose = () => {
      if (over.aborted || lost.signal.aborted) return
      log.warn({ lease: name }, 'a lease could not be renewed; stopping its operation')
      lost.abort()
    }
    const done = AbortSignal.any([over, lost.signal])
    const loseAt = (time: number) => setTimeout(lose, Math.max(time - performance.now(), 0))
    let timer = loseAt(firstStop)
    let wait = timing.renewMs
    for (;;) {
      await rest(wait, done)
      if (done.aborted) break
      try {
        const stopAt = await request()
        clearTimeout(timer)
        // At once if another node holds it.
        timer = loseAt(stopAt ?? 0)
        wait = timing.renewMs
      } catch {
        // The store may be back in a moment; the timer limits the wait.
        wait = timing.retryMs
      }
    }
    clearTimeout(timer)
  }

  const stopAt = await request()
  if (stopAt === undefined) return undefined
  return {
    async runWhileHeld(operation, ended) {
      const [lost, over] = [new AbortController(), new AbortController()]
      const renewing = renew(stopAt, lost, over.signal)
      try {
        const stop = AbortSignal.any([ended, lost.signal])
        if (!stop.aborted && performance.now() < stopAt) await operation(stop)
      } finally {
        over.abort()
        // A pending renewal must not reach the store after the release.
        const ending = renewing.then(() => store.releaseLease(name, holder))
        // If the store is unavailable, the lease expires.
        await withTimeout(timing.stopTimeoutMs, ending).catch(() => {})
      }
    },
  }
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

const rest = (ms: number, signal: AbortSignal) => pause(ms, undefined, { signal }).catch(() => {})

// Known limit: an operation that takes longer than `stopMarginMs` to stop, or a machine that was suspended, may still run when
// the next holder starts. Operations under a lease must tolerate that briefly.

/** Exclusive right to a task among all threads and nodes. */
export interface Lease {
  name: string
  holder: string
  /** The same for all who ask for it: a longer one is taken for a mistake of the clock. */
  ms: number
}
