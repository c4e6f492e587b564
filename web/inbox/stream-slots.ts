// Over HTTP/1.1 a browser has six connections to a site, for all tabs together. Each stream holds one for good.
const SLOTS = 4

/** What holds a connection, until the signal at the latest. */
type Operation = (until: AbortSignal) => Promise<void>

const NEVER = new AbortController().signal

/** Runs what holds a connection, unless other tabs hold too many already. */
export async function inStreamSlot(operation: Operation): Promise<'done' | 'none'> {
  if (sharesConnection()) {
    await operation(NEVER)
    return 'done'
  }
  const { locks } = navigator as { locks?: LockManager }
  if (!locks) return await whileVisible(operation)
  let begun = false
  const inSlot = async (lock: Lock | null) => {
    begun = lock !== null
    if (begun) await operation(NEVER)
  }
  try {
    for (let slot = 1; slot <= SLOTS && !begun; slot += 1) {
      await locks.request(`mayfly stream ${slot}`, { ifAvailable: true }, inSlot)
    }
  } catch (fault) {
    if (begun) throw fault
    // A browser that keeps nothing for this site gives out no locks either.
    return await whileVisible(operation)
  }
  return begun ? 'done' : 'none'
}

/** Nobody says what other tabs hold, but few are in sight at once. */
async function whileVisible(operation: Operation): Promise<'done' | 'none'> {
  const hidden = new AbortController()
  const watch = () => {
    if (document.visibilityState === 'hidden') hidden.abort()
  }
  watch()
  if (hidden.signal.aborted) return 'none'
  document.addEventListener('visibilitychange', watch)
  try {
    await operation(hidden.signal)
  } catch (fault) {
    if (!hidden.signal.aborted) throw fault
  } finally {
    document.removeEventListener('visibilitychange', watch)
  }
  return hidden.signal.aborted ? 'none' : 'done'
}

/** HTTP/2 and later carry everything over one. */
function sharesConnection(): boolean {
  const [opening] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return /^h[23]/.test(opening?.nextHopProtocol ?? '')
}
