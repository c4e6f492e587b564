import { batch, computed, signal } from '@preact/signals'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import type { MessageList as Listed, MessageSummary } from '../site/api.ts'
import { localStore } from '../site/storage.ts'
import {
  arrivals,
  type DeletedMessages,
  type Deletion,
  EMPTY_LIST,
  isDeletedBy,
  type MessageList,
  matchesQuery,
  parseIds,
  withIds,
  withMessage,
  without,
  withSnapshot,
  withUpdate,
} from './message-list.ts'

/** How the page receives mail now: by stream (live) or by polling (looking). `until`: time of the next attempt, as of Date.now(). */
export type ConnectionStatus =
  | { kind: 'starting' }
  | { kind: 'live' }
  | { kind: 'looking'; seconds: number }
  | { kind: 'offline' | 'unreachable' | 'limited'; until: number }
  | { kind: 'ended' }

export const connectionStatus = signal<ConnectionStatus>({ kind: 'starting' })

const messageList = signal<MessageList>(EMPTY_LIST)
/** True once the server has listed the mailbox. */
export const isLoaded = signal(false)
export const isMailboxFull = signal(false)
/** The mailbox has older messages that are not listed. */
export const isTruncated = computed(() => messageList.value.truncated)
export interface PageDeletion extends Deletion {
  state: 'undoable' | 'sending' | 'failed'
}

/** Deleted by the user, not yet by the server; of all mailboxes. */
export const deletions = signal<readonly PageDeletion[]>([])
const deletingHere = computed(() => {
  const token = currentMailbox.value?.token
  const isHidden = (one: PageDeletion) => one.token === token && one.state !== 'failed'
  return deletions.value.filter(isHidden).map(isDeletedBy)
})
export const searchQuery = signal('')
export type Filter = 'unread' | 'code' | 'link' | 'files'
/** All of them must be met. */
export const filters = signal<ReadonlySet<Filter>>(new Set())
export const isSearching = computed(() => searchQuery.value.trim() !== '' || filters.value.size > 0)

export function toggleFilter(filter: Filter): void {
  // What is read from now on stays in the list until then.
  if (filter === 'unread') readBefore.value = readIds.value
  filters.value = filters.value.symmetricDifference(new Set([filter]))
}

export function clearSearch(): void {
  searchQuery.value = ''
  filters.value = new Set()
}

/** A link that the recipient is meant to follow. */
export interface ActionLink {
  kind: 'verify' | 'sign_in' | 'reset'
  url: string
  host: string
}

/** By the id of the message; undefined if it must not be offered. Loaded by links.ts. */
export const actionLinks = signal<ReadonlyMap<number, ActionLink | undefined>>(new Map())

/** Newest first. */
export const messages = computed(() =>
  messageList.value.rows.filter(({ id }) => !deletingHere.value.some((isDeleted) => isDeleted(id))),
)
/** Ids of messages whose text contains the query, according to the server. */
export const textMatches = signal<{ query: string; ids: ReadonlySet<number> } | undefined>(
  undefined,
)
const readBefore = signal<ReadonlySet<number>>(new Set())
const FILTERS: Record<Filter, (message: MessageSummary) => boolean> = {
  unread: ({ id }) => !readBefore.value.has(id),
  code: ({ code }) => code !== null,
  link: ({ id }) => actionLinks.value.has(id),
  files: ({ attachments }) => (attachments ?? 0) > 0,
}
/** Messages that match the search. */
export const visibleMessages = computed(() => {
  if (!isSearching.value) return messages.value
  const query = searchQuery.value.trim()
  const ids = textMatches.value?.query === query ? textMatches.value.ids : undefined
  const tests = [...filters.value].map((filter) => FILTERS[filter])
  return messages.value.filter(
    (message) =>
      tests.every((test) => test(message)) &&
      (query === '' || matchesQuery(message, query) || ids?.has(message.id)),
  )
})

/** Called with new messages; not with those that were there when the page was opened. */
export const arrivalListeners = new Set<(messages: MessageSummary[]) => void>()
/** For each running poll, the ids that the stream has added or updated since it was sent. */
const activePolls = new Set<Set<number>>()
let sentPolls = 0
let newestApplied = 0

/** The messages of the current mailbox, as stream and polls report them. */
export const messageStore = {
  newestId: () => messageList.value.newest,
  /** For another mailbox. */
  reset(): void {
    batch(() => {
      messageList.value = EMPTY_LIST
      isLoaded.value = false
      isMailboxFull.value = false
      clearSearch()
      actionLinks.value = new Map()
      connectionStatus.value = { kind: 'starting' }
    })
  },
  add(message: MessageSummary): void {
    updateList((before) => withMessage(before, message))
    markChanged(message)
  },
  update(message: MessageSummary): void {
    updateList((before) => withUpdate(before, message))
    markChanged(message)
  },
  remove(deleted: DeletedMessages): void {
    updateList((before) => without(before, deleted))
  },
  /** Applies the list that is requested here, unless it is unchanged, another mailbox is shown by then, or a later one was faster. */
  async poll(requestList: () => Promise<Listed | undefined>, ended: AbortSignal): Promise<void> {
    const changedMeanwhile = new Set<number>()
    activePolls.add(changedMeanwhile)
    sentPolls += 1
    const number = sentPolls
    try {
      const list = await requestList()
      if (!list || ended.aborted || number < newestApplied) return
      newestApplied = number
      updateList((before) => withSnapshot(before, list.messages, changedMeanwhile))
      isLoaded.value = true
      isMailboxFull.value = list.full === true
    } finally {
      activePolls.delete(changedMeanwhile)
    }
  },
}

function updateList(step: (before: MessageList) => MessageList): void {
  const before = messageList.value
  const after = step(before)
  if (after === before) return
  messageList.value = after
  const arrived = isLoaded.value ? arrivals(before, after) : []
  if (arrived.length > 0) for (const listener of arrivalListeners) listener(arrived)
}

function markChanged({ id }: MessageSummary): void {
  for (const changedMeanwhile of activePolls) changedMeanwhile.add(id)
}

const STORAGE_KEY = 'read'
const readByAddress = signal(parseIds(localStore.get(STORAGE_KEY)))

/** Messages of an address that were read in this browser. */
export function readIdsOf(email: string): readonly number[] {
  return readByAddress.value[email] ?? []
}

/** Ids read in the current mailbox. */
export const readIds = computed(() => new Set(readIdsOf(currentMailbox.value?.email ?? '')))
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

/** Only visible messages, so that none hidden by a search is deleted by mistake. */
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
