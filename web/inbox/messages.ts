import { batch, computed, signal } from '@preact/signals'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import type { MessageSummary } from '../site/api-client.ts'
import { localStore } from '../site/storage.ts'
import type { Deletion } from './deletions.ts'
import {
  arrivals,
  EMPTY_LIST,
  type MessageList,
  matchesQuery,
  withMessage,
  without,
  withSnapshot,
  withUpdate,
} from './message-list.ts'
import { parseIds, withIds } from './stored-ids.ts'

/** How the page hears of new mail at the moment. `until` is when it tries again, by Date.now(). */
export type ConnectionStatus =
  | { kind: 'starting' }
  | { kind: 'live' }
  | { kind: 'waiting' }
  | { kind: 'looking'; seconds: number }
  | { kind: 'offline' | 'away' | 'limited'; until: number }
  | { kind: 'ended' }

export const connectionStatus = signal<ConnectionStatus>({ kind: 'starting' })

const messageList = signal<MessageList>(EMPTY_LIST)
/** True once the server has told what is in the mailbox. */
export const isLoaded = signal(false)
/** The mailbox takes no more mail. */
export const isMailboxFull = signal(false)
/** The mailbox holds older ones that are not listed. */
export const isTruncated = computed(() => messageList.value.truncated)
/** What the reader has deleted and the server has not yet, of whichever mailbox. */
export const deleting = signal<ReadonlySet<Deletion>>(new Set())
const deletingHere = computed(() => {
  const token = currentMailbox.value?.token
  return new Set([...deleting.value].filter((one) => one.token === token).map(({ id }) => id))
})
export const searchQuery = signal('')

/** All of the mailbox, the newest first. */
export const messages = computed(() =>
  messageList.value.rows.filter(({ id }) => !deletingHere.value.has(id)),
)
/** Those that the search leaves over. */
export const visibleMessages = computed(() => {
  const words = searchQuery.value
  return words.trim() === ''
    ? messages.value
    : messages.value.filter((one) => matchesQuery(one, words))
})

/** Called with what has just come; not with what was there when the page was opened. */
export const arrivalListeners = new Set<(messages: MessageSummary[]) => void>()
const activePolls = new Set<Set<number>>()

/** What is told about the mailbox, by whatever way. */
export const messageStore = {
  newestId: () => messageList.value.newest,
  /** False only if the server's list says that there is no such message. */
  mayContain(id: number): boolean {
    const { rows, truncated } = messageList.value
    return rows.some((row) => row.id === id) || (truncated && id < (rows.at(-1)?.id ?? 0))
  },
  /** Another mailbox is on the page. */
  reset(): void {
    batch(() => {
      messageList.value = EMPTY_LIST
      isLoaded.value = false
      isMailboxFull.value = false
      searchQuery.value = ''
      connectionStatus.value = { kind: 'starting' }
    })
  },
  add(message: MessageSummary): void {
    updateList((before) => withMessage(before, message))
  },
  update(message: MessageSummary): void {
    updateList((before) => withUpdate(before, message))
  },
  remove(ids: ReadonlySet<number>): void {
    updateList((before) => without(before, ids))
  },
  /** To be called before the server is asked for its list; `listed` wants it back with the answer. */
  beginPoll(): Set<number> {
    const since = new Set<number>()
    activePolls.add(since)
    return since
  },
  setSnapshot(list: readonly MessageSummary[], since: Set<number>): void {
    updateList((before) => withSnapshot(before, list, since))
    isLoaded.value = true
  },
  /** The question is over, answered or not. */
  endPoll(since: Set<number>): void {
    activePolls.delete(since)
  },
}

function updateList(step: (before: MessageList) => MessageList): void {
  const before = messageList.value
  const after = step(before)
  if (after === before) return
  messageList.value = after
  const there = new Set(before.rows.map(({ id }) => id))
  for (const { id } of after.rows) {
    if (!there.has(id)) for (const since of activePolls) since.add(id)
  }
  const news = isLoaded.value ? arrivals(before, after) : []
  if (news.length > 0) for (const tell of arrivalListeners) tell(news)
}

const STORAGE_KEY = 'read'
const readByAddress = signal(parseIds(localStore.get(STORAGE_KEY)))

/** The ids of this mailbox that were read in this browser. */
export const readIds = computed(
  () => new Set(readByAddress.value[currentMailbox.value?.email ?? ''] ?? []),
)
export const unreadCount = computed(
  () => messages.value.filter(({ id }) => !readIds.value.has(id)).length,
)

export function markRead(...ids: number[]): void {
  const email = currentMailbox.value?.email
  if (!email || ids.every((id) => readIds.value.has(id))) return
  // Another tab may have written since we read.
  const before = { ...readByAddress.value, ...parseIds(localStore.get(STORAGE_KEY)) }
  const addresses = mailboxes.value.map((mailbox) => mailbox.email)
  readByAddress.value = withIds(before, { email, ids }, addresses)
  localStore.set(STORAGE_KEY, JSON.stringify(readByAddress.value))
}

addEventListener('storage', ({ key, newValue }) => {
  if (key === `mayfly ${STORAGE_KEY}`) readByAddress.value = parseIds(newValue ?? undefined)
})

const selectedIds = signal<ReadonlySet<number>>(new Set())

/** Those with a tick that can be seen: what a search hides is not deleted by mistake. */
export const selected = computed(
  () =>
    new Set(
      visibleMessages.value.filter(({ id }) => selectedIds.value.has(id)).map(({ id }) => id),
    ),
)
export const allSelected = computed(
  () => selected.value.size > 0 && selected.value.size === visibleMessages.value.length,
)

export function setSelected(id: number, on: boolean): void {
  const after = new Set(selectedIds.value)
  if (on) after.add(id)
  else after.delete(id)
  selectedIds.value = after
}

export function selectAll(on: boolean): void {
  selectedIds.value = new Set(on ? visibleMessages.value.map(({ id }) => id) : [])
}
