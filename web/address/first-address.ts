import { signal } from '@preact/signals'
import { backoffDelay } from '../../src/base/time.ts'
import { withLock } from '../site/lock.ts'
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
  if (!currentMailbox.value) await createMailbox()
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

/** Runs the operation while no other tab does. `hadToWait`: another tab was running it. Without locks, both may do so at once. */
async function withTabLock(operation: (hadToWait: boolean) => Promise<void>): Promise<void> {
  const first = await withLock(LOCK, { ifAvailable: true }, () => operation(false))
  if (first === 'done') return
  if ((await withLock(LOCK, {}, () => operation(true))) !== 'done') await operation(false)
}
