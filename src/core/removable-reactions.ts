/**
 * Calls listeners when a promise is fulfilled. Unlike a reaction of the promise itself, a listener can be removed: a promise that
 * stays pending would otherwise keep everyone in memory who ever waited for it.
 */
export function openReactions<T>() {
  const listeners = new Map<Promise<T>, Set<(value: T) => void>>()

  function listenersOf(promise: Promise<T>): Set<(value: T) => void> {
    const known = listeners.get(promise)
    if (known) return known
    const added = new Set<(value: T) => void>()
    listeners.set(promise, added)
    void promise.then((value) => {
      listeners.delete(promise)
      for (const listener of added) listener(value)
    })
    return added
  }

  /** Returns a function that removes the listener. */
  return (promise: Promise<T>, listener: (value: T) => void): (() => void) => {
    const all = listenersOf(promise)
    all.add(listener)
    return () => void all.delete(listener)
  }
}
