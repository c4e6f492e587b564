// A table that threads share: each slot has a tag (which key) and a value. A slot whose value is not above `floor` is free.
const SLOTS = 65_536
const PROBES = 8

export function makeSlots(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * 2 * BigInt64Array.BYTES_PER_ELEMENT)
}

export function openSlots(shared: SharedArrayBuffer) {
  const cells = new BigInt64Array(shared)

  /** The cell that has this tag, else a free one, else the first: under a flood of keys two of them share one. */
  function find(tag: bigint, floor: number): number {
    const start = Number(BigInt.asUintN(16, tag))
    let free = -1
    for (let probe = 0; probe < PROBES; probe += 1) {
      const at = ((start + probe) % SLOTS) * 2
      if (Atomics.load(cells, at) === tag) return at
      if (free < 0 && Number(Atomics.load(cells, at + 1)) <= floor) free = at
    }
    const at = free < 0 ? start * 2 : free
    Atomics.store(cells, at, tag)
    if (free >= 0) Atomics.store(cells, at + 1, BigInt(Math.floor(floor)))
    return at
  }

  return {
    /** The key's value; undefined when it has no place. */
    read(key: string): number | undefined {
      const tag = tagOf(key)
      const start = Number(BigInt.asUintN(16, tag))
      for (let probe = 0; probe < PROBES; probe += 1) {
        const at = ((start + probe) % SLOTS) * 2
        if (Atomics.load(cells, at) === tag) return Number(Atomics.load(cells, at + 1))
      }
      return undefined
    },
    /** Where the key's value is, or a free place for it. */
    place: (key: string, floor: number): number => find(tagOf(key), floor) + 1,
    /** Replaces the value there by `next` of it, without losing what another thread does at the same moment. */
    update(place: number, next: (value: number) => number): void {
      for (;;) {
        const before = Atomics.load(cells, place)
        const after = BigInt(Math.ceil(next(Number(before))))
        if (Atomics.compareExchange(cells, place, before, after) === before) return
      }
    },
  }
}

/** FNV-1a over 64 bits in two halves: quick, and good enough to tell addresses apart. */
function tagOf(key: string): bigint {
  let low = 0x811c9dc5
  let high = 0x01000193
  for (let at = 0; at < key.length; at += 1) {
    low = Math.imul(low ^ key.charCodeAt(at), 0x01000193)
    high = Math.imul(high ^ key.charCodeAt(at), 0x85ebca6b) ^ (low >>> 15)
  }
  return (BigInt(high) << 32n) | BigInt(low >>> 0)
}

export function makeCounters(): SharedArrayBuffer {
  return makeSlots()
}

/** How many of a thing each key holds at this moment, over all threads: connections of an address. */
export function openCounters(shared: SharedArrayBuffer) {
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

export function makeSharedBudget(): SharedArrayBuffer {
  return new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
}

/** A number of bytes shared by all threads. */
export function openSharedBudget(shared: SharedArrayBuffer, mostBytes: number) {
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
