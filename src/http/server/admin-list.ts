import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import { nullable } from './schemas.ts'

export const DEFAULT_LIMIT = 50

/** What a list takes; it returns `next`. */
export const pageFields = {
  before: Type.Optional(Type.String({ description: 'The `next` of the previous page.' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000,
      description: `Maximum number of entries; default ${DEFAULT_LIMIT}.`,
    }),
  ),
}

export const nextField = nullable(
  Type.String({ examples: ['1772366400000.key_…'] }),
  'For `before`, to get the next page; null if this is the last.',
)

/** Where a page ends: what the list is ordered by, and the id among entries that are equal in it. */
interface Cursor {
  rank: number
  id: string
}

// The largest time of a Date, and more than any id.
const MAX_RANK = 8.64e15

/** A page of a list. `read` gets one more than the limit, to know whether there is another page. */
export async function readPage<T>(
  { before, limit = DEFAULT_LIMIT }: { before?: string; limit?: number },
  read: (page: { before: Cursor | undefined; limit: number }) => Promise<readonly T[]>,
  cursorOf: (last: T) => { rank: number; id?: string | number },
): Promise<{ entries: T[]; next: string | null }> {
  const found = await read({ before: parseCursor(before), limit: limit + 1 })
  const entries = found.slice(0, limit)
  const last = entries.at(-1)
  if (found.length === entries.length || last === undefined) return { entries, next: null }
  const { rank, id } = cursorOf(last)
  return { entries, next: id === undefined ? `${rank}` : `${rank}.${id}` }
}

export function parseCursor(before: string | undefined): Cursor | undefined {
  if (before === undefined) return undefined
  const [, rank = '', id = ''] = /^(\d{1,16})(?:\.(\w{1,64}))?$/.exec(before) ?? []
  if (rank === '' || Number(rank) > MAX_RANK) throw invalidCursor()
  return { rank: Number(rank), id }
}

export function invalidCursor(): Problem {
  return new Problem('invalid_parameter', 'before: must be the next of a previous page.')
}

interface Created {
  createdAt: Date
  id: string
}

/** The same of a list by creation. */
export async function readCreatedPage<T extends Created>(
  input: { before?: string; limit?: number },
  read: (page: { before: Created | undefined; limit: number }) => Promise<readonly T[]>,
): Promise<{ entries: T[]; next: string | null }> {
  return await readPage(
    input,
    ({ before, limit }) =>
      read({ limit, before: before && { createdAt: new Date(before.rank), id: before.id } }),
    ({ createdAt, id }) => ({ rank: createdAt.getTime(), id }),
  )
}
