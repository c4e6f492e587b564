import { computed, signal } from '@preact/signals'
import { actionLinks, arrivalListeners, messages, readIds } from './messages.ts'

/** The newest message with a code, or with a link to follow. */
export const newestAction = computed(() =>
  messages.value.find(({ id, code }) => code !== null || actionLinks.value.get(id)),
)

/** Ids of messages that have arrived while the page was open. */
const arrivedIds = signal<ReadonlySet<number>>(new Set())
/** One mail to two addresses may have the same id: its code is the same, too. */
const copiedIds = signal<ReadonlySet<number>>(new Set())

function isNew(id: number): boolean {
  return arrivedIds.value.has(id) && !readIds.value.has(id)
}

export const isNewestNew = computed(() => isNew(newestAction.value?.id ?? 0))
/** The newest message with a code that has arrived meanwhile, until it is read or its code is copied. */
export const newCode = computed(() =>
  messages.value.find(({ id, code }) => code && isNew(id) && !copiedIds.value.has(id)),
)

export function markCopied(id: number): void {
  copiedIds.value = new Set([...copiedIds.value, id])
}

export function startNewest(): void {
  arrivalListeners.add((arrived) => {
    arrivedIds.value = new Set([...arrivedIds.value, ...arrived.map(({ id }) => id)])
  })
}
