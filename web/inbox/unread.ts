import { computed, signal } from '@preact/signals'
import { current, mailboxes } from '../address/mailboxes.ts'
import { kept } from '../site/kept.ts'
import { messages } from './mail.ts'
import { parseMarks, withRead } from './marks.ts'

const SHELF = 'read'
const marks = signal(parseMarks(kept.find(SHELF)))

/** The ids of this mailbox that were read in this browser. */
export const read = computed(() => new Set(marks.value[current.value?.email ?? ''] ?? []))
export const unreadCount = computed(
  () => messages.value.filter(({ id }) => !read.value.has(id)).length,
)

export function markRead(...ids: number[]): void {
  const email = current.value?.email
  if (!email || ids.every((id) => read.value.has(id))) return
  // Another tab may have written since we read.
  const before = { ...marks.value, ...parseMarks(kept.find(SHELF)) }
  const addresses = mailboxes.value.map((mailbox) => mailbox.email)
  marks.value = withRead(before, { email, ids }, addresses)
  kept.keep(SHELF, JSON.stringify(marks.value))
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === `mayfly ${SHELF}`) marks.value = parseMarks(newValue ?? undefined)
})
