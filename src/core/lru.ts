/** A cache of bounded size. `get` and `set` make an entry the most recently used one. */
export interface Lru<Key, Value> {
  get(key: Key): Value | undefined
  /** Evicts the least recently used entry if there would be more than the maximum. */
  set(key: Key, value: Value): void
  delete(key: Key): void
}

export function openLru<Key, Value>(maxEntries: number): Lru<Key, Value> {
  // A Map iterates in insertion order, so the first key is the least recently used one.
  const entries = new Map<Key, Value>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= maxEntries) return
      const [oldest] = entries.keys()
      entries.delete(oldest as Key)
    },
    delete: (key) => void entries.delete(key),
  }
}
