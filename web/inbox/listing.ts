import type { Summary } from '../site/shapes.ts'

/** So many the API gives at most, and so many we ask for. */
export const MOST_LISTED = 500

/** What is known of one mailbox: the newest first, and which are gone. An id is never given twice. */
export interface Listing {
  rows: readonly Summary[]
  gone: ReadonlySet<number>
  /** The highest id ever told of; 0: none. */
  newest: number
  /** The mailbox holds older ones that were not listed. */
  cut: boolean
}

export const NOTHING: Listing = { rows: [], gone: new Set(), newest: 0, cut: false }

/** One message more, or one that is known in other words. What is gone stays gone, however late it is told. */
export function withMessage(listing: Listing, message: Summary): Listing {
  const { rows, gone } = listing
  if (gone.has(message.id)) return listing
  const newest = Math.max(listing.newest, message.id)
  const place = rows.findIndex(({ id }) => id <= message.id)
  if (place < 0) return { ...listing, newest, rows: [...rows, message] }
  const known = rows[place]?.id === message.id ? 1 : 0
  return { ...listing, newest, rows: rows.toSpliced(place, known, message) }
}

/** Tells of one that may have left meanwhile: nothing comes back by it. */
export function withUpdate(listing: Listing, message: Summary): Listing {
  return listing.rows.some(({ id }) => id === message.id) ? withMessage(listing, message) : listing
}

export function without(listing: Listing, ids: ReadonlySet<number>): Listing {
  return {
    ...listing,
    rows: listing.rows.filter(({ id }) => !ids.has(id)),
    gone: listing.gone.union(ids),
  }
}

/**
 * The server's whole list, as it was when it was asked. `since` are those that were told of while the answer was on its
 * way: that they are not in it proves nothing.
 */
export function withList(
  listing: Listing,
  list: readonly Summary[],
  since: ReadonlySet<number>,
): Listing {
  const there = new Set(list.map(({ id }) => id))
  const { rows } = listing
  const cut = list.length >= MOST_LISTED
  const oldest = cut ? (list.at(-1)?.id ?? 0) : 0
  const missing = rows.filter(({ id }) => !there.has(id))
  const late = missing.filter(({ id }) => since.has(id))
  const lost = missing.filter(({ id }) => !since.has(id) && id > oldest)
  const gone = listing.gone.union(new Set(lost.map(({ id }) => id)))
  const before = new Map(rows.map((row) => [row.id, row]))
  const listed = list
    .filter(({ id }) => !gone.has(id))
    .map((row) => unchanged(before.get(row.id), row))
  return {
    rows: [...late, ...listed].sort((a, b) => b.id - a.id),
    gone,
    newest: Math.max(listing.newest, list[0]?.id ?? 0),
    cut,
  }
}

/** A row that says the same is the same one: the page need not draw it again. */
function unchanged(before: Summary | undefined, row: Summary): Summary {
  return before && JSON.stringify(before) === JSON.stringify(row) ? before : row
}

/** Those in `after` that are newer than all that `before` ever knew: what has just come. */
export function arrived(before: Listing, after: Listing): Summary[] {
  return after.rows.filter(({ id }) => id > before.newest)
}
