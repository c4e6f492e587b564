import type { MessageSummary } from '../site/api.ts'
import { parseJson } from '../site/storage.ts'

/** The API's limit, and what we request. */
export const MAX_LISTED = 500

/** One mailbox as far as we know it. Ids are never reused. */
export interface MessageList {
  /** Newest first. */
  rows: readonly MessageSummary[]
  /** Also of messages that were never listed. */
  deletedIds: ReadonlySet<number>
  /** All messages up to this id are deleted. */
  deletedUpToId: number
  /** Highest id ever seen; 0 if none. */
  newest: number
  /** The mailbox has older messages that were not listed. */
  truncated: boolean
}

export const EMPTY_LIST: MessageList = {
  rows: [],
  deletedIds: new Set(),
  deletedUpToId: 0,
  newest: 0,
  truncated: false,
}

/** Adds or replaces a message. A deleted one stays deleted, however late its event arrives. */
export function withMessage(list: MessageList, message: MessageSummary): MessageList {
  const { rows } = list
  if (isDeleted(list, message.id)) return list
  const newest = Math.max(list.newest, message.id)
  const index = rows.findIndex(({ id }) => id <= message.id)
  if (index < 0) return { ...list, newest, rows: [...rows, message] }
  const replaced = rows[index]?.id === message.id ? 1 : 0
  return { ...list, newest, rows: rows.toSpliced(index, replaced, message) }
}

/** Replaces a message, unless it was deleted meanwhile. */
export function withUpdate(list: MessageList, message: MessageSummary): MessageList {
  return list.rows.some(({ id }) => id === message.id) ? withMessage(list, message) : list
}

/** These messages, or all up to an id. */
export interface DeletedMessages {
  ids: readonly number[]
  /** Also those that are not listed. */
  upToId?: number
}

/** Messages of one mailbox. */
export interface Deletion extends DeletedMessages {
  token: string
}

export function isDeletedBy({ ids, upToId = 0 }: DeletedMessages): (id: number) => boolean {
  const listed = new Set(ids)
  return (id) => id <= upToId || listed.has(id)
}

/** A list that was requested before the deletion may arrive after it, so messages that are not listed are recorded, too. */
export function without(list: MessageList, deleted: DeletedMessages): MessageList {
  const after = {
    ...list,
    deletedIds: list.deletedIds.union(new Set(deleted.ids)),
    deletedUpToId: Math.max(list.deletedUpToId, deleted.upToId ?? 0),
  }
  return { ...after, rows: list.rows.filter(({ id }) => !isDeleted(after, id)) }
}

function isDeleted({ deletedIds, deletedUpToId }: MessageList, id: number): boolean {
  return id <= deletedUpToId || deletedIds.has(id)
}

/**
 * Applies the server's list, which is as old as the request. Messages in `changedMeanwhile` were added or updated since
 * then: the list neither deletes nor overwrites them.
 */
export function withSnapshot(
  list: MessageList,
  snapshot: readonly MessageSummary[],
  changedMeanwhile: ReadonlySet<number>,
): MessageList {
  const { rows } = list
  const truncated = snapshot.length >= MAX_LISTED
  const oldestListed = truncated ? (snapshot.at(-1)?.id ?? 0) : 0
  const listedIds = new Set(snapshot.map(({ id }) => id))
  const missing = rows.filter(({ id }) => !listedIds.has(id))
  const added = missing.filter(({ id }) => changedMeanwhile.has(id))
  const removed = missing.filter(({ id }) => !changedMeanwhile.has(id) && id > oldestListed)
  const after = without(list, { ids: removed.map(({ id }) => id) })
  const before = new Map(rows.map((row) => [row.id, row]))
  const listed = snapshot
    .filter(({ id }) => !isDeleted(after, id))
    .map((row) => {
      const known = before.get(row.id)
      // An unchanged row stays the same object, so that it is not rendered again.
      const isEqual = JSON.stringify(known) === JSON.stringify(row)
      return known && (isEqual || changedMeanwhile.has(row.id)) ? known : row
    })
  return {
    ...after,
    rows: [...added, ...listed].sort((a, b) => b.id - a.id),
    newest: Math.max(list.newest, snapshot[0]?.id ?? 0),
    truncated,
  }
}

/** Messages newer than any that `before` has ever had. */
export function arrivals(before: MessageList, after: MessageList): MessageSummary[] {
  return after.rows.filter(({ id }) => id > before.newest)
}

/** True if each word of the query occurs in the sender, the subject, the code or the beginning of the text. */
export function matchesQuery(message: MessageSummary, query: string): boolean {
  const { sender_name, sender_email, subject, code, preview } = message
  const text = foldText([sender_name, sender_email, subject, code ?? '', preview ?? ''].join('\n'))
  return wordsOf(query).every((word) => text.includes(word))
}

function wordsOf(query: string): string[] {
  return foldText(query)
    .split(/\s+/)
    .filter((word) => word !== '')
}

/** The text in pieces, of which every second one contains a word of the query. */
export function highlighted(text: string, query: string): string[] {
  const pieces: string[] = []
  let last = 0
  for (const { start, end } of matchesIn(text, query)) {
    if (end <= last) continue
    // What overlaps is one piece.
    if (start <= last && last > 0) pieces.push((pieces.pop() ?? '') + text.slice(last, end))
    else pieces.push(text.slice(last, start), text.slice(start, end))
    last = end
  }
  return [...pieces, text.slice(last)]
}

/** In the order of their starts. */
function matchesIn(text: string, query: string): { start: number; end: number }[] {
  let folded = ''
  /** For each character of the folded text, where it comes from. */
  const origins: number[] = []
  let at = 0
  for (const character of text) {
    const plain = foldText(character)
    folded += plain
    origins.push(...Array<number>(plain.length).fill(at))
    at += character.length
  }
  const found: { start: number; end: number }[] = []
  for (const word of wordsOf(query)) {
    for (let from = folded.indexOf(word); from >= 0; from = folded.indexOf(word, from + 1)) {
      const [start = 0, end = text.length] = [origins[from], origins[from + word.length]]
      found.push({ start, end })
    }
  }
  return found.sort((a, b) => a.start - b.start)
}

/** Without case and accents: cafe finds Café. */
function foldText(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/** Ids of messages by address, as stored in this browser. Nothing else of a mail is ever stored. */
export type IdsByAddress = Readonly<Record<string, readonly number[]>>

/** As many as a mailbox holds by default. */
const MAX_IDS = 1_000

/** Ignores whatever is not ours. */
export function parseIds(text: string | undefined): IdsByAddress {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {}
  return Object.fromEntries(
    Object.entries(value).flatMap(([email, ids]) =>
      Array.isArray(ids) ? [[email, ids.filter((id) => Number.isSafeInteger(id))]] : [],
    ),
  )
}

/**
 * Deletions in the mailboxes that this browser has; ignores whatever is not ours. Version 0.3 stored ids by address, and
 * those of `upToId` apart: `textOfAll`.
 */
export function parseDeletions(
  text: string | undefined,
  textOfAll: string | undefined,
  mailboxes: readonly { email: string; token: string }[],
): Deletion[] {
  const value = parseJson(text)
  const [ids, all] = [parseIds(text), parseIds(textOfAll)]
  return [
    ...(Array.isArray(value) ? value.filter(isDeletion) : []),
    ...mailboxes.flatMap(({ email, token }) => [
      ...(ids[email]?.length ? [{ token, ids: ids[email] }] : []),
      ...(all[email] ?? []).map((upToId) => ({ token, ids: [], upToId })),
    ]),
  ].filter((deletion) => mailboxes.some(({ token }) => token === deletion.token))
}

function isDeletion(value: unknown): value is Deletion {
  if (typeof value !== 'object' || value === null) return false
  const { token, ids, upToId = 0 } = value as Partial<Record<keyof Deletion, unknown>>
  const isList = Array.isArray(ids) && ids.every((id) => Number.isSafeInteger(id))
  return typeof token === 'string' && isList && Number.isSafeInteger(upToId)
}

/** Adds ids to one address and drops those of addresses that this browser no longer has. */
export function withIds(
  idsByAddress: IdsByAddress,
  { email, ids }: { email: string; ids: readonly number[] },
  addresses: readonly string[],
): IdsByAddress {
  const after = [...new Set([...(idsByAddress[email] ?? []), ...ids])].slice(-MAX_IDS)
  const retained = Object.entries(idsByAddress).filter(([other]) => addresses.includes(other))
  return { ...Object.fromEntries(retained), [email]: after }
}
