import { signal } from '@preact/signals'
import { alone } from './alone.ts'
import { createAddress, trouble } from './deeds.ts'
import { current, readAgain } from './mailboxes.ts'
import { troubleOf } from './trouble.ts'

/** True until this visit has its first address. */
export const isOpening = signal(!current.peek())

/** An address without a click: one that is known, else a new one, sooner or later. */
export async function openAddress(): Promise<void> {
  if (!current.value) await untilDone(() => alone('opening', firstAddress))
  isOpening.value = false
}

/** Tries until it is done; meanwhile it stands in the bar why it is not, and a button tries at once. */
export async function untilDone(operation: () => Promise<void>): Promise<void> {
  for (let seconds = 2; ; seconds = Math.min(seconds * 2, 60)) {
    try {
      await operation()
      trouble.value = undefined
      return
    } catch (fault) {
      const found = troubleOf(fault)
      const retrySeconds = found.retrySeconds ?? seconds
      await new Promise<void>((again) => {
        trouble.value = { ...found, retrySeconds, byItself: true, again }
        setTimeout(again, retrySeconds * 1000)
        addEventListener('online', () => again(), { once: true })
      })
    }
  }
}

/** Two tabs that open at once share one address: the second finds what the first has kept. */
async function firstAddress(second: boolean): Promise<void> {
  readAgain()
  if (second && !current.value) await fromOtherTab()
  if (!current.value) await createAddress({})
}

const ON_ITS_WAY_MS = 1_000

/** What another tab keeps is told to this one a moment later. */
function fromOtherTab(): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(), ON_ITS_WAY_MS)
    const stop = current.subscribe((found) => {
      if (!found) return
      clearTimeout(timer)
      queueMicrotask(() => stop())
      resolve()
    })
  })
}
