import type { MessageSummary } from '../site/api-client.ts'

/** So many the API gives at most, and so many we ask for. */
export const MAX_LISTED = 500

/** What is known of one mailbox: the newest first, and which are gone. An id is never given twice. */
export interface MessageList {
  rows: readonly MessageSummary[]
  deletedIds: ReadonlySet<number>
  /** The highest id ever told of; 0: none. */
  newest: number
  /** The mailbox holds older ones that were not listed. */
  truncated: boolean
}

export const EMPTY_LIST: MessageList = {
  rows: [],
  deletedIds: new Set(),
  newest: 0,
  truncated: false,
}

/** One message more, or one that is known in other words. What is gone stays gone, however late it is told. */
export function withMessage(listing: MessageList, message: MessageSummary): MessageList {
  const { rows, deletedIds } = listing
  if (deletedIds.has(message.id)) return listing
  const newest = Math.max(listing.newest, message.id)
  const place = rows.findIndex(({ id }) => id <= message.id)
  if (place < 0) return { ...listing, newest, rows: [...rows, message] }
  const known = rows[place]?.id === message.id ? 1 : 0
  return { ...listing, newest, rows: rows.toSpliced(place, known, message) }
}

/** Tells of one that may have left meanwhile: nothing comes back by it. */
export function withUpdate(listing: MessageList, message: MessageSummary): MessageList {
  return listing.rows.some(({ id }) => id === message.id) ? withMessage(listing, message) : listing
}

export function without(listing: MessageList, ids: ReadonlySet<number>): MessageList {
  return {
    ...listing,
    rows: listing.rows.filter(({ id }) => !ids.has(id)),
    deletedIds: listing.deletedIds.union(ids),
  }
}

/**
 * The server's whole list, as it was when it was asked. `since` are those that were told of while the answer was on its
 * way: that they are not in it proves nothing.
 */
export function withSnapshot(
  listing: MessageList,
  list: readonly MessageSummary[],
  since: ReadonlySet<number>,
): MessageList {
  const there = new Set(list.map(({ id }) => id))
  const { rows } = listing
  const cut = list.length >= MAX_LISTED
  const oldest = cut ? (list.at(-1)?.id ?? 0) : 0
  const missing = rows.filter(({ id }) => !there.has(id))
  const late = missing.filter(({ id }) => since.has(id))
  const lost = missing.filter(({ id }) => !since.has(id) && id > oldest)
  const gone = listing.deletedIds.union(new Set(lost.map(({ id }) => id)))
  const before = new Map(rows.map((row) => [row.id, row]))
  const listed = list
    .filter(({ id }) => !gone.has(id))
    .map((row) => unchanged(before.get(row.id), row))
  return {
    rows: [...late, ...listed].sort((a, b) => b.id - a.id),
    deletedIds: gone,
    newest: Math.max(listing.newest, list[0]?.id ?? 0),
    truncated: cut,
  }
}

/** A row that says the same is the same one: the page need not draw it again. */
function unchanged(before: MessageSummary | undefined, row: MessageSummary): MessageSummary {
  return before && JSON.stringify(before) === JSON.stringify(row) ? before : row
}

/** Those in `after` that are newer than all that `before` ever knew: what has just come. */
export function arrivals(before: MessageList, after: MessageList): MessageSummary[] {
  return after.rows.filter(({ id }) => id > before.newest)
}

/** True when each word of the query stands in the sender, the subject or the code. */
export function matchesQuery(message: MessageSummary, query: string): boolean {
  const { sender_name, sender_email, subject, code } = message
  const text = foldText([sender_name, sender_email, subject, code ?? ''].join('\n'))
  return foldText(query)
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** Without case and accents: who searches for cafe means Café too. */
function foldText(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
