/** A cache of bounded size. `get` and `set` make an entry the most recently used one. */
export function openLru<Key, Value>(maxEntries: number) {
  // A Map iterates in insertion order, so the first key is the least recently used one.
  const entries = new Map<Key, Value>()
  return {
    get(key: Key): Value | undefined {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    /** Evicts the least recently used entry if there would be more than the maximum. */
    set(key: Key, value: Value): void {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= maxEntries) return
      const [oldest] = entries.keys()
      entries.delete(oldest as Key)
    },
    delete: (key: Key): void => void entries.delete(key),
  }
}
