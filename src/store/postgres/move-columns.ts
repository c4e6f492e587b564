import type { Row, Value } from '../../core/row-sum.ts'
import type { Db } from './pool.ts'

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
  const columns = await db.rowsOnce<Column>(
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
  const given: string[] = []
  const taken: string[] = []
  const list = (name: string, type: string, items: unknown[]) => {
    values.push(items)
    given.push(`${name} $${values.length}::${type}[]`)
  }
  for (const { name, type } of columns) {
    const items = rows.map((row) => row[name] ?? null)
    if (type === 'bytea') {
      const { bytes, starts, lengths } = joined(items)
      values.push(bytes)
      taken.push(`substring($${values.length}::bytea from ${name}_from for ${name}_length)`)
      list(`${name}_from`, 'integer', starts)
      list(`${name}_length`, 'integer', lengths)
    } else {
      list(name, type, type === 'boolean' ? items.map(asBoolean) : items)
      taken.push(name)
    }
  }
  const lists = given.map((one) => one.slice(one.indexOf(' ') + 1))
  const names = given.map((one) => one.slice(0, one.indexOf(' ')))
  const text = `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
    select ${taken.join(', ')} from unnest(${lists.join(', ')}) as given (${names.join(', ')})`
  return { text, values }
}

function asBoolean(value: Value): boolean | null {
  return value === null ? null : value === 1
}

/** All bytes as one value, which goes over the wire as it is: in a list each would be written out in hex. */
function joined(items: readonly Value[]) {
  const parts = items.map((item) => (item instanceof Uint8Array ? item : undefined))
  let end = 0
  const starts = parts.map((part) => {
    const start = end + 1
    end += part?.length ?? 0
    return part ? start : null
  })
  const lengths = parts.map((part) => part?.length ?? null)
  const bytes = Buffer.concat(parts.filter((part) => part !== undefined))
  return { bytes, starts, lengths }
}
