import { kept } from '../site/kept.ts'

/**
 * Runs a deed while no other tab of this browser runs one of this name. `second` says that another was at it: what it
 * leaves behind may be a moment on its way.
 */
export async function alone<T>(
  name: string,
  operation: (second: boolean) => Promise<T>,
): Promise<T> {
  const { locks } = navigator as { locks?: LockManager }
  if (!locks) return await claimed(name, operation)
  let begun = false
  const run = (second: boolean) => {
    begun = true
    return operation(second)
  }
  try {
    const first = await locks.request(name, { ifAvailable: true }, async (lock) =>
      lock ? { done: await run(false) } : undefined,
    )
    return first ? first.done : await locks.request(name, () => run(true))
  } catch (fault) {
    // A browser that keeps nothing for this site gives out no locks either.
    if (begun) throw fault
    return await operation(false)
  }
}

const CLAIM_MS = 10_000

/** Without locks (a site without https): who comes second sees the claim of the first, nearly always. */
async function claimed<T>(name: string, operation: (second: boolean) => Promise<T>): Promise<T> {
  const age = Date.now() - Number(kept.find(name) ?? 0)
  const second = age >= 0 && age < CLAIM_MS
  if (!second) kept.keep(name, String(Date.now()))
  try {
    return await operation(second)
  } finally {
    if (!second) kept.keep(name, undefined)
  }
}
