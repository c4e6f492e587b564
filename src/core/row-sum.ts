import { hash } from 'node:crypto'

export type Value = string | number | null | Uint8Array

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, Value>>

/** What rows come to: equal for the same rows, in whatever order they come. */
interface RowSum {
  rows: number
  sum: bigint
}

export const NO_ROWS: RowSum = { rows: 0, sum: 0n }

// 128 bits of each row's hash: rows that differ come to the same sum by chance alone.
const WIDTH = 128
const DIGITS = WIDTH / 4

export function plusRows(before: RowSum, rows: readonly Row[]): RowSum {
  const sum = rows.reduce((all, row) => all + BigInt(`0x${rowHash(row)}`), before.sum)
  return { rows: before.rows + rows.length, sum: BigInt.asUintN(WIDTH, sum) }
}

export function isSameSum(one: RowSum, other: RowSum): boolean {
  return one.rows === other.rows && one.sum === other.sum
}

/** How bytes stand in a row's hash; a database that is asked for this sends no bytes. */
export function bytesHash(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex')
}

function rowHash(row: Row): string {
  const named = Object.keys(row)
    .sort()
    .map((name) => {
      const value = row[name] ?? null
      return [name, value instanceof Uint8Array ? bytesHash(value) : value]
    })
  return hash('sha256', JSON.stringify(named), 'hex').slice(0, DIGITS)
}
