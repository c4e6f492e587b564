import type { Row, Value } from '../../core/row-sum.ts'
import type { Db } from './connection/connections.ts'

export interface Column {
  name: string
  type: string
}

/** Columns that are filled while mail is put in, or start empty: SQLite has none of the kind. */
const OWN: Record<string, readonly string[]> = {
  'mail.shared_mailbox': ['buckets', 'gone_at', 'gone_id'],
}

/** Those that are moved to. */
export async function readColumns(db: Db, table: string): Promise<Column[]> {
  const columns = await db.queryUnprepared<Column>(
    `select attname as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
    [table],
  )
  return columns.filter(({ name }) => !OWN[table]?.includes(name))
}

/** One statement for however many rows, and its values: a list for each column. */
export function insertOf(
  table: string,
  columns: readonly Column[],
  rows: readonly Row[],
): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const lists: { name: string; list: string }[] = []
  const mark = (value: unknown) => `$${values.push(value)}`
  const taken = columns.map(({ name, type }) => {
    const items = rows.map((row) => row[name] ?? null)
    if (type !== 'bytea') {
      const list = mark(type === 'boolean' ? items.map(asBoolean) : items)
      lists.push({ name, list: `${list}::${type}[]` })
      return name
    }
    const { bytes, starts, lengths } = joined(items)
    lists.push({ name: `${name}_from`, list: `${mark(starts)}::integer[]` })
    lists.push({ name: `${name}_length`, list: `${mark(lengths)}::integer[]` })
    return `substring(${mark(bytes)}::bytea from ${name}_from for ${name}_length)`
  })
  const names = lists.map(({ name }) => name).join(', ')
  const given = lists.map(({ list }) => list).join(', ')
  const text = `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
    select ${taken.join(', ')} from unnest(${given}) as given (${names})`
  return { text, values }
}

function asBoolean(value: Value): boolean | null {
  return value === null ? null : value === 1
}

/** All bytes as one value, which goes over the wire as it is: in a list each would be written out in hex. Copies share theirs. */
function joined(items: readonly Value[]) {
  const starts = new Map<Uint8Array, number>()
  let end = 0
  for (const item of items) {
    if (!(item instanceof Uint8Array) || starts.has(item)) continue
    starts.set(item, end + 1)
    end += item.length
  }
  const parts = items.map((item) => (item instanceof Uint8Array ? item : undefined))
  return {
    bytes: Buffer.concat([...starts.keys()]),
    starts: parts.map((part) => part && starts.get(part)),
    lengths: parts.map((part) => part?.length),
  }
}
