import { setImmediate as nextTurn } from 'node:timers/promises'
import { openScheduler, type Running } from '../../base/fair-scheduler.ts'
import { ownerKeys, type Reader } from './parse-once.ts'

/**
 * Filters and searches fold texts in this thread. They do so in short steps, one per turn of the event loop whatever their
 * number, fairly by client and mailbox: other requests are served in between.
 */
export interface StepScheduler {
  /** Runs all steps. Rejects with `overloaded` if too many wait, or with the signal's reason. */
  run<T>(request: StepRequest, steps: Iterator<void, T>): Promise<T>
  /** Runs a single step. */
  step<T>(request: StepRequest, work: () => T): Promise<T>
}

export interface StepRequest extends Reader {
  signal?: AbortSignal | undefined
}

// All long polls of a client may have a message to test at once.
const LIMITS = {
  slots: 1,
  maxWaiting: 10_000,
  maxWaitingPerKey: 1_000,
  overloadMessage: 'Too many searches are in progress.',
}

export function openStepScheduler(limits: Partial<typeof LIMITS> = {}): StepScheduler {
  const scheduler = openScheduler({ ...LIMITS, ...limits })

  async function step<T>({ signal, ...reader }: StepRequest, work: () => T): Promise<T> {
    return await scheduler.run(Symbol(), { owner: ownerKeys(reader), signal }, () => start(work))
  }

  return {
    step,
    async run(request, steps) {
      for (;;) {
        const { done, value } = await step(request, () => steps.next())
        if (done) return value
      }
    },
  }
}

function start<T>(work: () => T): Running<T> {
  const startedAt = performance.now()
  const result = Promise.try(work)
  return { result, cost: nextTurn(performance.now() - startedAt) }
}
