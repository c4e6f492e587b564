import { signal } from '@preact/signals'
import { localStore } from '../site/storage.ts'
import { createMailbox, failure, failureFrom } from './actions.ts'
import { currentMailbox, reloadMailboxes } from './mailboxes.ts'

/** True until this visit has its first address. */
export const isStarting = signal(!currentMailbox.peek())

/** An address without a click: one that is known, else a new one, sooner or later. */
export async function ensureMailbox(): Promise<void> {
  if (!currentMailbox.value) await retryUntilDone(() => withTabLock('opening', createFirst))
  isStarting.value = false
}

/** Tries until it is done; meanwhile it stands in the bar why it is not, and a button tries at once. */
export async function retryUntilDone(operation: () => Promise<void>): Promise<void> {
  for (let seconds = 2; ; seconds = Math.min(seconds * 2, 60)) {
    try {
      await operation()
      failure.value = undefined
      return
    } catch (fault) {
      const failed = failureFrom(fault)
      const retrySeconds = failed.retrySeconds ?? seconds
      await new Promise<void>((again) => {
        failure.value = { ...failed, retrySeconds, automatic: true, again }
        setTimeout(again, retrySeconds * 1000)
        addEventListener('online', () => again(), { once: true })
      })
    }
  }
}

/** Two tabs that open at once share one address: the second finds what the first has kept. */
async function createFirst(second: boolean): Promise<void> {
  reloadMailboxes()
  if (second && !currentMailbox.value) await waitForOtherTab()
  if (!currentMailbox.value) await createMailbox({})
}

const OTHER_TAB_MS = 1_000

/** What another tab keeps is told to this one a moment later. */
function waitForOtherTab(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(), OTHER_TAB_MS)
    const stop = currentMailbox.subscribe((found) => {
      if (!found) return
      clearTimeout(timer)
      queueMicrotask(() => stop())
      resolve()
    })
  })
}

/**
 * Runs a deed while no other tab of this browser runs one of this name. `second` says that another was at it: what it
 * leaves behind may be a moment on its way.
 */
export async function withTabLock<T>(
  name: string,
  operation: (second: boolean) => Promise<T>,
): Promise<T> {
  const { locks } = navigator as { locks?: LockManager }
  if (!locks) return await withStorageLock(name, operation)
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
async function withStorageLock<T>(
  name: string,
  operation: (second: boolean) => Promise<T>,
): Promise<T> {
  const age = Date.now() - Number(localStore.get(name) ?? 0)
  const second = age >= 0 && age < CLAIM_MS
  if (!second) localStore.set(name, String(Date.now()))
  try {
    return await operation(second)
  } finally {
    if (!second) localStore.set(name, undefined)
  }
}
