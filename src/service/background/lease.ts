import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../core/log.ts'
import type { MailStore } from '../../store/store.ts'
import { logFault } from './outage.ts'
import { withTimeout } from './repeat.ts'

export interface LeaseDeps {
  store: Pick<MailStore, 'acquireLease' | 'releaseLease'>
  /** A name that nobody has had. A new one each time: what was asked under the last one may reach the store late. */
  newHolder(): string
  log: Pick<Log, 'warn' | 'error'>
  timing?: LeaseTiming
}

/** In milliseconds. */
export interface LeaseTiming {
  /** How long a lease lasts that is not renewed. */
  lasts: number
  renew: number
  /** How much of it is left for the deed to stop in. */
  spare: number
  /** Between two tries to have one, or to renew one that could not be. */
  retry: number
  /** How long an end waits for what hangs. */
  patience: number
}

// Who dies has renewed it a moment ago at best: the next one begins 18 s later at worst.
export const DEFAULT_TIMING: LeaseTiming = {
  lasts: 15_000,
  renew: 5_000,
  spare: 3_000,
  retry: 3_000,
  patience: 3_000,
}

/** Goes on until it is told to stop, and resolves when nothing of it is under way any more. */
type Operation = (stop: AbortSignal) => Promise<void>

/**
 * Does the deed whenever the lease can be had, until it is told to end. What then still hangs, on somebody else's server or
 * on the store, is left behind, and the lease runs out by itself.
 */
export async function runUnderLease(
  deps: LeaseDeps,
  { name, operation, ended }: { name: string; operation: Operation; ended: AbortSignal },
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
          logFault(log, error, 'work under a lease failed; tried again', { lease: name })
      }
      await rest(timing.retry, ended)
    }
  }
  const done = repeatOperation()
  await untilAborted(ended)
  await withTimeout(timing.patience, done)
}

interface HeldLease {
  /** Does the deed with the lease renewed, until it is told to end or the lease is lost. Then gives the lease up. */
  runWhileHeld(operation: Operation, ended: AbortSignal): Promise<void>
}

/** Asks once; undefined when somebody else has it. */
export async function acquireLease(deps: LeaseDeps, name: string): Promise<HeldLease | undefined> {
  const { store, log, timing = DEFAULT_TIMING } = deps
  const holder = deps.newHolder()

  /** When the deed has to be told to stop, counted from before the store heard of it: by its clock there is more left. */
  async function ask(): Promise<number | undefined> {
    const stopAt = performance.now() + timing.lasts - timing.spare
    return (await store.acquireLease({ name, holder, ms: timing.lasts })) ? stopAt : undefined
  }

  /** Until the deed is over or the lease is. */
  async function renew(firstStop: number, lost: AbortController, over: AbortSignal): Promise<void> {
    const lose = () => {
      if (over.aborted || lost.signal.aborted) return
      log.warn({ lease: name }, 'a lease could not be renewed; its work stops here')
      lost.abort()
    }
    const done = AbortSignal.any([over, lost.signal])
    const loseAt = (time: number) => setTimeout(lose, Math.max(time - performance.now(), 0))
    let timer = loseAt(firstStop)
    let wait = timing.renew
    for (;;) {
      await rest(wait, done)
      if (done.aborted) break
      try {
        const stopAt = await ask()
        clearTimeout(timer)
        // At once, when somebody else has it.
        timer = loseAt(stopAt ?? 0)
        wait = timing.renew
      } catch {
        // The store is away, for a moment perhaps: the timer ends the waiting.
        wait = timing.retry
      }
    }
    clearTimeout(timer)
  }

  const stopAt = await ask()
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
        // A renewal on its way must not come after the end.
        const ending = renewing.then(() => store.releaseLease(name, holder))
        // Where the store is away, it ends by itself.
        await withTimeout(timing.patience, ending).catch(() => {})
      }
    },
  }
}

/** Resolves when it is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}

const rest = (ms: number, signal: AbortSignal) => pause(ms, undefined, { signal }).catch(() => {})

// Limits: a deed that needs longer than `spare` to stop, or a machine that was put to sleep meanwhile, may still be at work
// when the next holder begins. What is done under a lease must bear that for a moment.
