// Lists of the API come in pages: `next` is the cursor of the next one.

/** Of the first page. */
const FIRST_LIMIT = 50
const NEXT_LIMIT = 200
/** Of the API. */
const MAX_LIMIT = 1_000

type PageValues = {
  limit: number
  before?: string
}

/** At least as many entries as `shown`, in as few requests as possible. What is not a list is read once. */
export async function readEntries<T extends object>(
  read: (values: PageValues) => Promise<T>,
  shown: number,
): Promise<T> {
  let value = await read({ limit: Math.min(Math.max(shown, FIRST_LIMIT), MAX_LIMIT) })
  for (let before = nextOf(value); before !== undefined; before = nextOf(value)) {
    const limit = Math.min(shown - entryCount(value), MAX_LIMIT)
    if (limit <= 0) break
    value = append(value, await read({ limit, before }))
  }
  return value
}

/** The list with its next page. */
export async function readMore<T extends object>(
  read: (values: PageValues) => Promise<T>,
  value: T,
  before: string,
): Promise<T> {
  return append(value, await read({ limit: NEXT_LIMIT, before }))
}

/** Undefined at the end of a list. */
export function nextOf(value: object): string | undefined {
  return 'next' in value && typeof value.next === 'string' ? value.next : undefined
}

/** Of a list. */
export function entryCount(value: object): number {
  return Object.values(value).find(Array.isArray)?.length ?? 0
}

function append<T extends object>(value: T, page: T): T {
  const before = new Map<string, unknown>(Object.entries(value))
  const fields = Object.entries(page).map(([name, added]) => {
    const known = before.get(name)
    return [name, Array.isArray(known) && Array.isArray(added) ? [...known, ...added] : added]
  })
  return Object.fromEntries(fields) as T
}
