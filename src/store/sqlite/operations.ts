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

  function rowsOf({ text, values }: Statement): unknown[] {
    let known = prepared.get(text)
    if (!known) {
      known = { statement: db.prepare(inSqlite(text)), order: parameterOrder(text) }
      prepared.set(text, known)
    }
    const { statement, order } = known
    // As PostgreSQL does; otherwise null would be stored.
    if (order.some((at) => at >= values.length))
      throw new Error(`no value for a parameter: ${text}`)
    const bindings = order.map((at) => bound(values[at]))
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

/** Each file is one schema; with a single writer rows need no lock; `like` ignores case; arrays are passed as JSON. */
function inSqlite(text: string): string {
  return text
    .replaceAll(/\b(mail|shop)\.(?=\w)/g, '')
    .replaceAll(/ for (no key )?update( skip locked)?/g, '')
    .replaceAll(' ilike ', ' like ')
    .replaceAll(/= any\((\$\d+)::\w+\[\]\)/g, 'in (select value from json_each($1))')
    .replaceAll(/unnest\((\$\d+)::\w+\[\]\) as (\w+)/g, '(select value as $2 from json_each($1))')
    .replaceAll(/\$\d+/g, '?')
}

/** The values of the parameters, in the order in which they stand in the text. */
function parameterOrder(text: string): number[] {
  return [...text.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number) - 1)
}

function bound(value: Value): string | number | Uint8Array | null {
  if (value === undefined || value === null) return null
  if (value instanceof Uint8Array) return value
  if (typeof value === 'object') return JSON.stringify(value)
  return typeof value === 'boolean' ? Number(value) : value
}
