import type { Limit } from './limit.ts'
import { makeSlots, openSlots } from './slots.ts'

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
    async take(key, { count, seconds, burst }, now) {
      const time = now.getTime()
      const step = (seconds * 1000) / count
      const span = step * burst
      let wait = 0
      slots.update(slots.place(key, time), (wholeAt) => {
        // Further away than an empty allowance can be: the clock has stepped back. Nobody is locked out for that.
        const from = Math.max(time, Math.min(wholeAt, time + span))
        wait = Math.ceil(from + step - span - time)
        return wait > 0 ? from : from + step
      })
      return Math.max(0, wait)
    },
    async close() {},
  }
}
