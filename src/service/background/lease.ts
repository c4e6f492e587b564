import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../core/log.ts'
import type { MailStore } from '../../store/store.ts'
import { logFault } from './outage.ts'
import { withTimeout } from './timing.ts'

export interface LeaseDeps {
  store: Pick<MailStore, 'takeLease' | 'endLease'>
  /** A name that nobody has had. A new one each time: what was asked under the last one may reach the store late. */
  newHolder(): string
  log: Pick<Log, 'warn' | 'error'>
  tempo?: LeaseTempo
}

/** In milliseconds. */
export interface LeaseTempo {
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
export const USUAL_TEMPO: LeaseTempo = {
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
export async function underLease(
  deps: LeaseDeps,
  { name, operation, ended }: { name: string; operation: Operation; ended: AbortSignal },
): Promise<void> {
  if (ended.aborted) return
  const { log, tempo = USUAL_TEMPO } = deps

  async function doForEver(): Promise<void> {
    while (!ended.aborted) {
      try {
        const lease = await takeLease(deps, name)
        await lease?.during(operation, ended)
      } catch (error) {
        if (!ended.aborted)
          logFault(log, error, 'work under a lease failed; tried again', { lease: name })
      }
      await rest(tempo.retry, ended)
    }
  }
  const done = doForEver()
  await untilAborted(ended)
  await withTimeout(tempo.patience, done)
}

interface HeldLease {
  /** Does the deed with the lease renewed, until it is told to end or the lease is lost. Then gives the lease up. */
  during(operation: Operation, ended: AbortSignal): Promise<void>
}

/** Asks once; undefined when somebody else has it. */
export async function takeLease(deps: LeaseDeps, name: string): Promise<HeldLease | undefined> {
  const { store, log, tempo = USUAL_TEMPO } = deps
  const holder = deps.newHolder()

  /** When the deed has to be told to stop, counted from before the store heard of it: by its clock there is more left. */
  async function ask(): Promise<number | undefined> {
    const stopAt = performance.now() + tempo.lasts - tempo.spare
    return (await store.takeLease({ name, holder, ms: tempo.lasts })) ? stopAt : undefined
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
    let wait = tempo.renew
    for (;;) {
      await rest(wait, done)
      if (done.aborted) break
      try {
        const stopAt = await ask()
        clearTimeout(timer)
        // At once, when somebody else has it.
        timer = loseAt(stopAt ?? 0)
        wait = tempo.renew
      } catch {
        // The store is away, for a moment perhaps: the timer ends the waiting.
        wait = tempo.retry
      }
    }
    clearTimeout(timer)
  }

  const stopAt = await ask()
  if (stopAt === undefined) return undefined
  return {
    async during(operation, ended) {
      const [lost, over] = [new AbortController(), new AbortController()]
      const renewing = renew(stopAt, lost, over.signal)
      try {
        const stop = AbortSignal.any([ended, lost.signal])
        if (!stop.aborted && performance.now() < stopAt) await operation(stop)
      } finally {
        over.abort()
        // A renewal on its way must not come after the end.
        const ending = renewing.then(() => store.endLease(name, holder))
        // Where the store is away, it ends by itself.
        await withTimeout(tempo.patience, ending).catch(() => {})
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
