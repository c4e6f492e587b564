import { hash } from 'node:crypto'
import { withoutNul } from '../postgres/connection/connections.ts'
import type { Row, Value } from './source.ts'

export interface Column {
  name: string
  type: string
}

/** The number of rows and the sum of their hashes, which does not depend on the order of the rows. */
export interface Checksum {
  rows: number
  sum: bigint
}

// 60 bits of each hash fit into a bigint of PostgreSQL. Both functions hash the same text for a row: of each column its length
// and value, or a dash for null; of bytes their own hash, so that none travel back.
const DIGITS = 15

export function addRows(
  before: Checksum,
  rows: readonly Row[],
  columns: readonly Column[],
): Checksum {
  const sum = rows.reduce((all, row) => {
    const text = columns.map(({ name }) => part(row[name])).join('')
    return all + BigInt(`0x${hash('sha256', text, 'hex').slice(0, DIGITS)}`)
  }, before.sum)
  return { rows: before.rows + rows.length, sum }
}

function part(value: Value | undefined): string {
  if (value === null || value === undefined) return '-'
  const text =
    value instanceof Uint8Array ? hash('sha256', value, 'hex') : String(withoutNul(value))
  return `${Buffer.byteLength(text)}:${text}`
}

/** Selects the checksum of a table as `rows` and `sum`. */
export function checksumQuery(table: string, columns: readonly Column[]): string {
  const parts = columns.map(({ name, type }) => {
    const text = asText(name, type)
    return `coalesce(octet_length(${text}) || ':' || ${text}, '-')`
  })
  return `select count(*) as rows, coalesce(sum(
      ('x' || left(encode(sha256(convert_to(${parts.join(' || ')}, 'UTF8')), 'hex'), ${DIGITS}))
        ::bit(${DIGITS * 4})::bigint), 0)::text as sum
    from ${table}`
}

function asText(column: string, type: string): string {
  if (type === 'bytea') return `encode(sha256(${column}), 'hex')`
  return type === 'boolean' ? `${column}::integer::text` : `${column}::text`
}
