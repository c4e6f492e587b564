import type { Limit, Rate } from './limit.ts'
import { makeSlots, openSlots } from './shared-counters.ts'

export function makeRates(): SharedArrayBuffer {
  return makeSlots()
}

/**
 * Rates of one node, counted over all its threads. Each key has one number: the time at which its allowance would be
 * whole again (the generic cell rate algorithm). A key whose time has passed needs no memory at all.
 */
export function openMemoryLimit(shared: SharedArrayBuffer): Limit {
  const slots = openSlots(shared)

  return {
    async take(key, rate, now) {
      let wait = 0
      slots.update(slots.place(key, now.getTime()), (wholeAt) => {
        const { from, step, waitMs } = evaluateRate(wholeAt, rate, now)
        wait = waitMs
        return wait > 0 ? from : from + step
      })
      return wait
    },
    async spend(key, amount, rate, now) {
      slots.update(slots.place(key, now.getTime()), (wholeAt) => {
        const { from, step, furthest } = evaluateRate(wholeAt, rate, now)
        return Math.min(from + step * amount, furthest)
      })
    },
    async look(key, rate, now) {
      const wholeAt = slots.read(key)
      return wholeAt === undefined ? 0 : evaluateRate(wholeAt, rate, now).waitMs
    },
    async close() {},
  }
}

// What a sum of times may be off: doubles of their size have about four digits after the point.
export const ROUNDING_MS = 0.01

export function evaluateRate(
  wholeAt: number,
  { count, seconds, burst, overdraft = 0 }: Rate,
  now: Date,
) {
  const time = now.getTime()
  const step = (seconds * 1000) / count
  const span = step * burst
  // Further away than an empty allowance can be: the clock has stepped back. Nobody is locked out for that.
  const furthest = time + span + step * overdraft
  const from = Math.max(time, Math.min(wholeAt, furthest))
  const waitMs = Math.max(0, Math.ceil(from + step - span - time - ROUNDING_MS))
  return { from, step, furthest, waitMs }
}
