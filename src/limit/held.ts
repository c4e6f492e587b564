import { makeSlots, openSlots } from './slots.ts'

export function makeHeld(): SharedArrayBuffer {
  return makeSlots()
}

/** How many of a thing each key holds at this moment, over all threads: connections of an address. */
export function openHeld(shared: SharedArrayBuffer) {
  const slots = openSlots(shared)

  return {
    /** The answer gives it back, once; undefined when the key holds `most` already. */
    hold(key: string, most: number): (() => void) | undefined {
      let fits = false
      // Given back where it was taken: under a flood the key may meanwhile be found elsewhere.
      const place = slots.place(key, 0)
      slots.update(place, (count) => {
        fits = count < most
        return fits ? count + 1 : count
      })
      if (!fits) return undefined
      let held = true
      return () => {
        if (held) slots.update(place, (count) => Math.max(0, count - 1))
        held = false
      }
    },
  }
}

export function makeBudget(): SharedArrayBuffer {
  return new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
}

/** A number of bytes shared by all threads. */
export function openBudget(shared: SharedArrayBuffer, mostBytes: number) {
  const spent = new BigInt64Array(shared)

  return {
    /** False, and nothing taken, when there is not that much left. */
    reserve(bytes: number): boolean {
      const before = Atomics.add(spent, 0, BigInt(bytes))
      if (Number(before) + bytes <= mostBytes) return true
      Atomics.sub(spent, 0, BigInt(bytes))
      return false
    },
    release(bytes: number): void {
      Atomics.sub(spent, 0, BigInt(bytes))
    },
  }
}
