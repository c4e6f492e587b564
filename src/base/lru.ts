interface LruOptions<Value> {
  /** Each entry counts as one by default. */
  sizeOf?(value: Value): number
  /** What was not used for twice as long is dropped when something else is set, so that a large cache holds only what is in use. */
  idleMs?: number
  now?(): number
}

/**
 * A cache limited in size. Keeps at least the most recently used half, and
 * evicts approximately in order of use: it has two generations, a hit in the old one moves the entry to the young one, and when
 * the young one is full, the old one is dropped. A hit in the young one moves nothing, which makes a poll a tenth cheaper than an
 * exact order would.
 */
export function openLru<Key, Value>(maxSize: number, options: LruOptions<Value> = {}) {
  const { sizeOf = () => 1, idleMs, now = () => performance.now() } = options
  let young = new Map<Key, Value>()
  let old = new Map<Key, Value>()
  let youngSize = 0
  let youngSince = idleMs === undefined ? 0 : now()

  function sizeIn(generation: Map<Key, Value>, key: Key): number {
    const value = generation.get(key)
    return value === undefined ? 0 : sizeOf(value)
  }

  function set(key: Key, value: Value): void {
    youngSize += sizeOf(value) - sizeIn(young, key)
    young.set(key, value)
    const isOld = idleMs !== undefined && now() - youngSince >= idleMs
    if (youngSize < maxSize / 2 && !isOld) return
    old = young
    young = new Map()
    youngSize = 0
    if (idleMs !== undefined) youngSince = now()
  }

  return {
    get(key: Key): Value | undefined {
      const recent = young.get(key)
      if (recent !== undefined) return recent
      const value = old.get(key)
      if (value !== undefined) set(key, value)
      return value
    },
    set,
    delete(key: Key): void {
      youngSize -= sizeIn(young, key)
      young.delete(key)
      old.delete(key)
    },
  }
}
