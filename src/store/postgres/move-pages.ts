import type { Row } from '../../core/row-sum.ts'
import type { Db } from './connection/connections.ts'
import type { Column } from './move-columns.ts'

const MOST_ROWS = 500
// Bytes are hashed by the server, and a statement has its time.
const MOST_BYTES = 8_000_000

/** All rows of a table in pages, bytes as their hashes. A message comes with its mail's, and with whether a reader finds it. */
export async function* pages(
  db: Db,
  table: string,
  columns: readonly Column[],
): AsyncGenerator<Row[]> {
  const key = await readKey(db, table)
  const text = pageText({ table, columns, key: key.join(', ') })
  const marks = key.map((_, at) => `$${at + 1}`).join(', ')
  for (let last: unknown[] = []; ; ) {
    const isFirst = last.length === 0
    const found = await db.query<Row>(text(isFirst ? 'true' : `(${key}) > (${marks})`), last)
    const end = found.at(-1)
    if (!end) return
    last = key.map((name) => end[name])
    yield found
  }
}

async function readKey(db: Db, table: string): Promise<string[]> {
  const rows = await db.queryUnprepared<{ name: string }>(
    `select attname as name from pg_index, unnest(indkey) with ordinality as part (number, turn)
     join pg_attribute on attnum = part.number
     where indrelid = $1::regclass and attrelid = indrelid and indisprimary order by turn`,
    [table],
  )
  return rows.map(({ name }) => name)
}

/** Rows after a key, up to so many, and of these no more than the bytes allow: at least one. */
function pageText({
  table,
  columns,
  key,
}: {
  table: string
  columns: readonly Column[]
  key: string
}) {
  const isMessage = table === 'mail.message'
  const shown = [...columns.map(shownAs), ...(isMessage ? [hashOf('zstd', 'mail'), 'found'] : [])]
  const bytes = columns.filter(({ type }) => type === 'bytea').map(({ name }) => name)
  const size = [...bytes, ...(isMessage ? ['zstd'] : [])]
    .map((name) => `coalesce(octet_length(${name}), 0)`)
    .join(' + ')

  return (where: string) => {
    const part = `select * from ${table} where ${where} order by ${key} limit ${MOST_ROWS}`
    const sized = isMessage ? withMail(part) : part
    return `select ${shown.join(', ')} from (
        select *, sum(${size || '0'}) over (order by ${key}) - (${size || '0'}) as bytes_before
        from (${sized}) as sized
      ) as page where bytes_before < ${MOST_BYTES} order by ${key}`
  }
}

// `offset 0` keeps the planner from joining: of tables just filled it knows little, and would read them whole for each page.
function withMail(messages: string): string {
  return `select part.*, zstd, coalesce(part.bucket = home.bucket, part.bucket = any(buckets), false)::integer as found
    from (${messages}) as part
    left join lateral (
      select zstd from mail.raw_mail as raw
      where raw.bucket = part.bucket and raw.serial = part.serial offset 0
    ) as raw on true
    left join lateral (
      select session.bucket from mail.session where session.id = part.mailbox offset 0
    ) as home on true
    left join mail.shared_mailbox as box on box.id = part.mailbox`
}

function shownAs({ name, type }: Column): string {
  if (type === 'bytea') return hashOf(name, name)
  return type === 'boolean' ? `${name}::integer` : name
}

function hashOf(column: string, name: string): string {
  return `encode(sha256(${column}), 'hex') as ${name}`
}
