import { batch, computed, signal } from '@preact/signals'
import type { Mailbox } from '../address/mailbox.ts'
import { currentMailbox, mailboxes } from '../address/mailboxes.ts'
import type { MessageSummary } from '../site/api.ts'
import { MAX_LISTED, matchesQuery } from './message-list.ts'
import { actionLinks, allMessages, messages, readByMailbox } from './messages.ts'

// What the list shows: search, filters and selection.

export const searchQuery = signal('')
export type Filter = 'unread' | 'code' | 'link' | 'files'
/** All of them must be met. */
export const filters = signal<ReadonlySet<Filter>>(new Set())
export const isSearching = computed(() => searchQuery.value.trim() !== '' || filters.value.size > 0)

export function toggleFilter(filter: Filter): void {
  // What is read from now on stays in the list until then.
  if (filter === 'unread') readBefore.value = readByMailbox.value
  filters.value = filters.value.symmetricDifference(new Set([filter]))
}

export function clearSearch(): void {
  searchQuery.value = ''
  filters.value = new Set()
}

const wantsAll = signal(false)
/** The list has the messages of all addresses. */
export const isAllShown = computed(() => wantsAll.value && mailboxes.value.length > 1)

export function showAll(isAll: boolean): void {
  batch(() => {
    wantsAll.value = isAll
    selectAll(false)
    // Links are known for one address only.
    filters.value = filters.value.difference(new Set(['link']))
  })
}

/** A message in the list. */
export interface Row {
  /** Unique in the list. */
  key: string
  mailbox: Mailbox
  message: MessageSummary
}

/** One mail to two addresses may have the same id. */
export function rowKey({ email }: Mailbox, id: number): string {
  return isAllShown.value ? `${id}-${email}` : String(id)
}

const listedRows = computed<readonly Row[]>(() => {
  const mailbox = currentMailbox.value
  if (isAllShown.value)
    return allMessages.value.map((one) => ({ key: rowKey(one.mailbox, one.message.id), ...one }))
  if (!mailbox) return []
  return messages.value.map((message) => ({ key: rowKey(mailbox, message.id), mailbox, message }))
})

/** Ids of messages whose text contains the query, by address, according to the server. */
export const textMatches = signal<
  { query: string; ids: ReadonlyMap<string, ReadonlySet<number>> } | undefined
>(undefined)
const readBefore = signal<ReadonlyMap<string, ReadonlySet<number>>>(new Map())
const FILTERS: Record<Filter, (row: Row) => boolean> = {
  unread: ({ mailbox: { email }, message: { id } }) => !readBefore.value.get(email)?.has(id),
  code: ({ message: { code } }) => code !== null,
  link: ({ message: { id } }) => actionLinks.value.has(id),
  files: ({ message: { attachments } }) => (attachments ?? 0) > 0,
}
/** Messages that match the search; of all addresses, as many as one may have. */
export const visibleRows = computed(() => {
  const found = isSearching.value ? foundRows() : listedRows.value
  return isAllShown.value ? found.slice(0, MAX_LISTED) : found
})

function foundRows(): readonly Row[] {
  const query = searchQuery.value.trim()
  const ids = textMatches.value?.query === query ? textMatches.value.ids : undefined
  const tests = [...filters.value].map((filter) => FILTERS[filter])
  const matches = ({ mailbox, message }: Row) =>
    query === '' || matchesQuery(message, query) || ids?.get(mailbox.email)?.has(message.id)
  return listedRows.value.filter((row) => tests.every((test) => test(row)) && matches(row))
}

const selectedKeys = signal<ReadonlySet<string>>(new Set())

/** Keys of visible messages only, so that none hidden by a search is deleted by mistake. */
export const selected = computed(
  () =>
    new Set(
      visibleRows.value.filter(({ key }) => selectedKeys.value.has(key)).map(({ key }) => key),
    ),
)
export const allSelected = computed(
  () => selected.value.size > 0 && selected.value.size === visibleRows.value.length,
)

export function setSelected(key: string, on: boolean): void {
  const after = new Set(selectedKeys.value)
  if (on) after.add(key)
  else after.delete(key)
  selectedKeys.value = after
}

export function selectAll(on: boolean): void {
  selectedKeys.value = new Set(on ? visibleRows.value.map(({ key }) => key) : [])
}
