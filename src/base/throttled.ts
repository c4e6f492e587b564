/** Calls `read` at most once in this time; in between, the last result is returned. */
export function throttled<T>(ms: number, read: () => T): () => T {
  let last: { value: T; until: number } | undefined
  return () => {
    const now = performance.now()
    if (!last || now >= last.until) last = { value: read(), until: now + ms }
    return last.value
  }
}

/** Calls `read` at most once in this time. Requests in between share the next call, so that no result is older than its request. */
export function spaced<T>(ms: number, read: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | undefined
  let from = 0
  async function readLater(): Promise<T> {
    const wait = Math.max(0, from - performance.now())
    await new Promise((resolve) => setTimeout(resolve, wait))
    next = undefined
    from = performance.now() + ms
    return await read()
  }
  return () => {
    next ??= readLater()
    return next
  }
}
