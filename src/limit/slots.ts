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
