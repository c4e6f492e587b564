import type { Statement as Prepared } from 'better-sqlite3'
import {
  methodsOf,
  type Operation,
  type Operations,
  type Statement,
  type SyncMethods,
  type Value,
} from '../../base/operation.ts'
import type { Db } from './files.ts'

/** Operations that both engines share, as methods. */
export function syncMethods<O extends Operations>(db: Db, operations: O): SyncMethods<O> {
  return methodsOf(operations, operationRunner(db))
}

/** Runs operations; each statement is prepared once. */
export function operationRunner(db: Db) {
  const prepared = new Map<string, { statement: Prepared; order: number[] }>()

  function prepare(text: string) {
    const { sql, order } = inSqlite(text)
    const found = { statement: db.prepare(sql), order }
    prepared.set(text, found)
    return found
  }

  function rowsOf({ text, values }: Statement): unknown[] {
    const { statement, order } = prepared.get(text) ?? prepare(text)
    const bindings = order.map((at) => {
      // As PostgreSQL does; otherwise null would be stored.
      if (at >= values.length) throw new Error(`no value for a parameter: ${text}`)
      return bound(values[at])
    })
    if (statement.reader) return statement.all(bindings)
    statement.run(bindings)
    return []
  }

  return <Result>(operation: Operation<Result>): Result => {
    let step = operation.next([])
    while (!step.done) step = operation.next(rowsOf(step.value))
    return step.value
  }
}

/**
 * Each file is one schema; with a single writer rows need no lock; `like` and `lower` know ASCII letters only; arrays are passed as
 * JSON. `inner join` keeps the order of the tables, where PostgreSQL chooses it by its statistics. With a bare parameter as limit,
 * SQLite would plan the statement again at each run. `order` has the position among the values for each parameter.
 */
function inSqlite(text: string): { sql: string; order: number[] } {
  const order: number[] = []
  const inOrder = (_: string, number: string) => {
    order.push(Number(number) - 1)
    return '?'
  }
  const translated = (part: string) =>
    part
      .replaceAll(/\b(mail|shop)\.(?=\w)/g, '')
      .replaceAll(/\bfor (no key )?update( skip locked)?\b/g, '')
      .replaceAll(/ collate ucs_basic\b/g, '')
      .replaceAll(/\bilike\b/g, 'like')
      .replaceAll(/\bgreatest\(/g, 'max(')
      .replaceAll(/\binner join\b/g, 'cross join')
      .replaceAll(/\blimit (?=\$)/g, 'limit +')
      .replaceAll(/= any\((\$\d+)::\w+\[\]\)/g, 'in (select value from json_each($1))')
      .replaceAll(/unnest\((\$\d+)::\w+\[\]\) as (\w+)/g, '(select value as $2 from json_each($1))')
      .replaceAll(/\$(\d+)/g, inOrder)
  // Every second part is a literal, a quoted name or a comment.
  const parts = text.split(/('[^']*'|"[^"]*"|--.*)/)
  return { sql: parts.map((part, at) => (at % 2 ? part : translated(part))).join(''), order }
}

function bound(value: Value): string | number | Uint8Array | null {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return value
  if (typeof value === 'object') return JSON.stringify(value)
  return typeof value === 'boolean' ? Number(value) : value
}
