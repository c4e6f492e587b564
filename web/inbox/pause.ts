/** The pauses that are on and may be cut short, each by what ends it. */
const pausing = new Set<() => void>()

/**
 * Waits, until somebody is in a hurry at the latest; a firm one, that the server asked for, to its end. Rejects when the
 * signal is aborted.
 */
export function pause(seconds: number, signal: AbortSignal, { firm = false } = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      pausing.delete(end)
      signal.removeEventListener('abort', cut)
      resolve()
    }
    const cut = () => {
      end()
      reject(signal.reason)
    }
    const timer = setTimeout(end, seconds * 1000)
    if (!firm) pausing.add(end)
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut)
  })
}

/** Ends the pauses that are on; false when there was none. */
export function endPauses(): boolean {
  const ends = [...pausing]
  for (const end of ends) end()
  return ends.length > 0
}
