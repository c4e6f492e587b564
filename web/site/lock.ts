/**
 * Runs the operation while no other tab has this lock. `none`: the browser has no locks, as over plain http, or grants none
 * because it blocks storage for this site.
 */
export async function withLock(
  name: string,
  options: LockOptions,
  operation: () => Promise<void>,
): Promise<'done' | 'taken' | 'none'> {
  const { locks } = navigator as { locks?: LockManager }
  let result = 'none' as 'done' | 'taken' | 'none'
  const run = async (lock: Lock | null) => {
    result = lock ? 'done' : 'taken'
    if (lock) await operation()
  }
  try {
    await locks?.request(name, options, run)
  } catch (error) {
    if (result === 'done') throw error
  }
  return result
}
