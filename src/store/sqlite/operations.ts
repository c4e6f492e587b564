import type { Statement as Prepared } from 'better-sqlite3'
import {
  methodsOf,
  type Operation,
  type Operations,
  type Statement,
  type SyncMethods,
  type Value,
} from '../operation.ts'
import type { Db } from './files.ts'

/** Runs the operations that both engines share. Each statement is prepared once. */
export function syncMethods<O extends Operations>(db: Db, operations: O): SyncMethods<O> {
  const prepared = new Map<string, Prepared<[Record<string, unknown>]>>()

  function rowsOf({ text, values }: Statement): unknown[] {
    let statement = prepared.get(text)
    if (!statement) {
      statement = db.prepare(inSqlite(text))
      prepared.set(text, statement)
    }
    const named = Object.fromEntries(values.map((value, at) => [at + 1, bound(value)]))
    if (statement.reader) return statement.all(named)
    statement.run(named)
    return []
  }

  return methodsOf(operations, (operation: Operation<unknown>) => {
    let step = operation.next([])
    while (!step.done) step = operation.next(rowsOf(step.value))
    return step.value
  })
}

/** A file is a schema of its own, and rows need no lock: there is one writer. */
function inSqlite(text: string): string {
  return text
    .replaceAll(/\b(mail|shop)\.(?=\w)/g, '')
    .replaceAll(/ for (no key )?update( skip locked)?/g, '')
}

function bound(value: Value): string | number | Uint8Array | null {
  return typeof value === 'boolean' ? Number(value) : (value ?? null)
}
