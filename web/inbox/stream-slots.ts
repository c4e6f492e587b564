// Over HTTP/1.1 a browser has six connections to a site, for all tabs together. Each stream holds one for good.
const SLOTS = 4

/** Runs what holds a connection, unless other tabs hold too many already. */
export async function inStreamSlot(deed: () => Promise<void>): Promise<'done' | 'none'> {
  const { locks } = navigator as { locks?: LockManager }
  let begun = !locks || sharesConnection()
  if (begun || !locks) return await done(deed)
  const inSlot = async (lock: Lock | null) => {
    begun = lock !== null
    if (begun) await deed()
  }
  try {
    for (let slot = 1; slot <= SLOTS && !begun; slot += 1) {
      await locks.request(`mayfly stream ${slot}`, { ifAvailable: true }, inSlot)
    }
  } catch (fault) {
    if (begun) throw fault
    // A browser that keeps nothing for this site gives out no locks either.
    return await done(deed)
  }
  return begun ? 'done' : 'none'
}

async function done(deed: () => Promise<void>): Promise<'done'> {
  await deed()
  return 'done'
}

/** HTTP/2 and later carry everything over one. */
function sharesConnection(): boolean {
  const [opening] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return /^h[23]/.test(opening?.nextHopProtocol ?? '')
}
