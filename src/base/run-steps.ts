import { setImmediate } from 'node:timers/promises'
import type { Awaitable } from './awaitable.ts'

/** Runs all steps. After each but the last, other work of this thread proceeds. */
export function runSteps<T>(steps: Iterator<unknown, T>): Awaitable<T> {
  const { done, value } = steps.next()
  return done ? value : runRest(steps)
}

async function runRest<T>(steps: Iterator<unknown, T>): Promise<T> {
  for (;;) {
    await setImmediate()
    const { done, value } = steps.next()
    if (done) return value
  }
}
