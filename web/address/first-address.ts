import { signal } from '@preact/signals'
import { backoffDelay } from '../../src/base/time.ts'
import { localStore } from '../site/storage.ts'
import { createMailbox, failure, failureFrom } from './actions.ts'
import { currentMailbox, reloadMailboxes } from './mailboxes.ts'

/** True until there is an address to show. */
export const isStarting = signal(!currentMailbox.peek())

/** Creates an address without a click if this browser has none. */
export async function ensureMailbox(): Promise<void> {
  if (!currentMailbox.value) await retryUntilDone(() => withTabLock(createFirst))
  isStarting.value = false
}

/** Retries until it succeeds; meanwhile the address bar shows why it fails, with a button to retry at once. */
export async function retryUntilDone(operation: () => Promise<void>): Promise<void> {
  for (let failures = 1; ; failures += 1) {
    try {
      await operation()
      failure.value = undefined
      return
    } catch (error) {
      const cause = failureFrom(error)
      const retrySeconds = cause.retrySeconds ?? backoffDelay(failures, { first: 2, max: 60 })
      await new Promise<void>((retry) => {
        failure.value = { ...cause, retrySeconds, automatic: true, retry }
        setTimeout(retry, retrySeconds * 1000)
        addEventListener('online', () => retry(), { once: true })
      })
    }
  }
}

/** Two tabs opened at once share one address: the second finds the one that the first has stored. */
async function createFirst(hadToWait: boolean): Promise<void> {
  reloadMailboxes()
  if (hadToWait && !currentMailbox.value) await waitForOtherTab()
  if (!currentMailbox.value) await createMailbox({})
}

const OTHER_TAB_MS = 1_000

/** Storage events of another tab arrive a moment later. */
function waitForOtherTab(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(), OTHER_TAB_MS)
    const stop = currentMailbox.subscribe((mailbox) => {
      if (!mailbox) return
      clearTimeout(timer)
      queueMicrotask(() => stop())
      resolve()
    })
  })
}

const LOCK = 'opening'

/** `hadToWait`: another tab was running it. */
type LockedOperation = (hadToWait: boolean) => Promise<void>

/** Runs the operation while no other tab does. */
async function withTabLock(operation: LockedOperation): Promise<void> {
  const { locks } = navigator as { locks?: LockManager }
  if (!locks) return await withStorageLock(operation)
  let hasStarted = false
  const run = (hadToWait: boolean) => {
    hasStarted = true
    return operation(hadToWait)
  }
  try {
    await locks.request(LOCK, { ifAvailable: true }, async (lock) => {
      if (lock) await run(false)
    })
    if (!hasStarted) await locks.request(LOCK, () => run(true))
  } catch (error) {
    // A browser that blocks storage for this site grants no locks either.
    if (hasStarted) throw error
    await operation(false)
  }
}

const STORAGE_LOCK_MS = 10_000

/** Without the Web Locks API (plain http). Not quite free of races, which cost a second address at worst. */
async function withStorageLock(operation: LockedOperation): Promise<void> {
  const age = Date.now() - Number(localStore.get(LOCK) ?? 0)
  const isLocked = age >= 0 && age < STORAGE_LOCK_MS
  if (!isLocked) localStore.set(LOCK, String(Date.now()))
  try {
    await operation(isLocked)
  } finally {
    if (!isLocked) localStore.set(LOCK, undefined)
  }
}
