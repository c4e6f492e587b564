import type { Limit, Rate } from './limit.ts'
import { makeSlots, openSlots } from './shared-counters.ts'

export function makeRates(): SharedArrayBuffer {
  return makeSlots()
}

/**
 * Rates of one node, over all its threads. Each key has one number: the time at which its allowance is full again (GCRA, the
 * generic cell rate algorithm). A key whose time has passed needs no memory.
 */
export function openMemoryLimit(shared: SharedArrayBuffer): Limit {
  const slots = openSlots(shared)

  return {
    take(key, rate, now) {
      let wait = 0
      slots.update(slots.slotOf(key, now.getTime()), (fullAt) => {
        const { from, step, waitMs } = evaluateRate(fullAt, rate, now)
        wait = waitMs
        return wait > 0 ? from : from + step
      })
      return wait
    },
    spend(key, amount, rate, now) {
      slots.update(slots.slotOf(key, now.getTime()), (fullAt) => {
        const { from, step, furthest } = evaluateRate(fullAt, rate, now)
        return Math.min(from + step * amount, furthest)
      })
    },
    peek(key, rate, now) {
      const fullAt = slots.read(key)
      return fullAt === undefined ? 0 : evaluateRate(fullAt, rate, now).waitMs
    },
    async close() {},
  }
}

// Rounding error of a sum of times: doubles of this size have about four decimals.
export const ROUNDING_MS = 0.01

export function evaluateRate(
  fullAt: number,
  { count, seconds, burst, overdraft = 0 }: Rate,
  now: Date,
) {
  const time = now.getTime()
  const step = (seconds * 1000) / count
  const span = step * burst
  // A time further away than that means that the clock has stepped back, which must not lock anybody out.
  const furthest = time + span + step * overdraft
  const from = Math.max(time, Math.min(fullAt, furthest))
  const waitMs = Math.max(0, Math.ceil(from + step - span - time - ROUNDING_MS))
  return { from, step, furthest, waitMs }
}
