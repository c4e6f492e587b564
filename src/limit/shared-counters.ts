// A hash table in shared memory: each slot has a tag (the hash of the key) and a value. A slot whose value is not above `floor`
// is free.
const SLOTS = 65_536
const PROBES = 8

export function makeSlots(): SharedArrayBuffer {
  return new SharedArrayBuffer(SLOTS * 2 * BigInt64Array.BYTES_PER_ELEMENT)
}

export function openSlots(shared: SharedArrayBuffer) {
  const cells = new BigInt64Array(shared)

  /** The slot with this tag, else a free one, else the first: under a flood of keys, two may share a slot. */
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
    /** The key's value; undefined if it has no slot. */
    read(key: string): number | undefined {
      const tag = tagOf(key)
      const start = Number(BigInt.asUintN(16, tag))
      for (let probe = 0; probe < PROBES; probe += 1) {
        const at = ((start + probe) % SLOTS) * 2
        if (Atomics.load(cells, at) === tag) return Number(Atomics.load(cells, at + 1))
      }
      return undefined
    },
    /** The key's slot, or a free one. */
    slotOf: (key: string, floor: number): number => find(tagOf(key), floor) + 1,
    /** Replaces the value atomically with `next(value)`. */
    update(slot: number, next: (value: number) => number): void {
      for (;;) {
        const before = Atomics.load(cells, slot)
        const after = BigInt(Math.ceil(next(Number(before))))
        if (Atomics.compareExchange(cells, slot, before, after) === before) return
      }
    },
  }
}

/** 64-bit FNV-1a in two halves: fast, and collisions are rare enough for client addresses. */
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

/** Counts how many of something each key holds, over all threads: connections per address. */
export function openCounters(shared: SharedArrayBuffer) {
  const slots = openSlots(shared)

  return {
    /** Returns a function that releases it; undefined if the key already holds `most`. */
    hold(key: string, most: number): (() => void) | undefined {
      let fits = false
      // Released in the slot where it was acquired: under a flood, the key may be found in another one by then.
      const slot = slots.slotOf(key, 0)
      slots.update(slot, (count) => {
        fits = count < most
        return fits ? count + 1 : count
      })
      if (!fits) return undefined
      let held = true
      return () => {
        if (held) slots.update(slot, (count) => Math.max(0, count - 1))
        held = false
      }
    },
  }
}

export function makeSharedBudget(): SharedArrayBuffer {
  return new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
}

/** A budget, such as bytes in memory, shared by all threads. */
export function openSharedBudget(shared: SharedArrayBuffer, most: number) {
  const spent = new BigInt64Array(shared)

  return {
    /** False, taking nothing, if not that much is left. */
    reserve(amount: number): boolean {
      const before = Atomics.add(spent, 0, BigInt(amount))
      if (Number(before) + amount <= most) return true
      Atomics.sub(spent, 0, BigInt(amount))
      return false
    },
    release(amount: number): void {
      Atomics.sub(spent, 0, BigInt(amount))
    },
  }
}
