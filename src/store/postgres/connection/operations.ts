import {
  type AsyncMethods,
  methodsOf,
  type Operation,
  type Operations,
} from '../../../base/operation.ts'
import type { Connections, Db } from './connections.ts'

/** Runs the operations that both engines share, each statement on its own. */
export function asyncMethods<O extends Operations>(db: Db, operations: O): AsyncMethods<O> {
  return methodsOf(operations, (operation) => runOperation(db, operation))
}

/** The same, with a transaction for each operation: for those whose statements must commit together. */
export function transactionMethods<O extends Operations>(
  connections: Connections,
  operations: O,
): AsyncMethods<O> {
  return methodsOf(operations, (operation) =>
    connections.transaction((db) => runOperation(db, operation)),
  )
}

export async function runOperation<Result>(db: Db, operation: Operation<Result>): Promise<Result> {
  let step = operation.next([])
  while (!step.done) {
    const { text, values, once } = step.value
    step = operation.next(await (once ? db.queryUnprepared(text, values) : db.query(text, values)))
  }
  return step.value
}
