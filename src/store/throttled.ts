/** Calls `read` at most once in this time; in between, the last result is returned. */
export function throttled<T>(ms: number, read: () => T): () => T {
  let last: { value: T; until: number } | undefined
  return () => {
    const now = performance.now()
    if (!last || now >= last.until) last = { value: read(), until: now + ms }
    return last.value
  }
}
