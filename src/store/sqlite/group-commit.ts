import { parse } from 'node:path'
import { hasErrorCode, Problem } from '../../base/problem.ts'
import { commitSeconds } from '../commit-seconds.ts'
import type { Db } from './files.ts'

/** Functions on the writable connection, by name. */
type Writes = Record<string, (...args: never[]) => unknown>
/** Functions that run all pending calls of one name together: given the arguments of each, they return a result for each. */
type Batches = Record<string, (calls: readonly never[]) => readonly unknown[]>

export interface WriteRequest {
  name: string
  /** The arguments, as an array. */
  value: unknown
}

export type WriteOutcome = { result: unknown } | { error: unknown }

/** Sends a write to the writer; resolves after its commit. */
export type Write = (name: string, args: unknown[]) => Promise<unknown>

/** Methods of a store as the writer implements them: the same arguments, the result without a promise. */
export type WritesOf<Store, Name extends keyof Store> = {
  [N in Name]: Store[N] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Result
    : never
}

/** Methods of a store that send their arguments to the writer. */
export function writeMethods<Methods, Name extends keyof Methods & string>(
  names: readonly Name[],
  write: Write,
): Pick<Methods, Name> {
  const methods = names.map((name) => [name, (...args: unknown[]) => write(name, args)])
  return Object.fromEntries(methods)
}

type Reads = Record<string, (...args: never[]) => unknown>

/** Reads of this thread's connection as methods of a store. */
export function readMethods<R extends Reads>(
  reads: R,
): { [N in keyof R]: (...args: Parameters<R[N]>) => Promise<Awaited<ReturnType<R[N]>>> } {
  const methods = Object.entries(reads).map(([name, read]) => [
    name,
    async (...args: never[]) => read(...args),
  ])
  return Object.fromEntries(methods)
}

/**
 * Returns a function that runs a group of writes in one transaction with one fsync. If one of them fails, the group runs again
 * with a savepoint for each, so that a failing one fails alone. Outcomes are returned after COMMIT and `committed`.
 */
export function groupCommit(
  db: Db,
  writes: Writes,
  { batches = {}, committed = () => {} }: { batches?: Batches; committed?: () => void } = {},
) {
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const inSavepoint = savepoint(db)
  const { name: store } = parse(db.name)

  function runOne(run: Run, { name, value }: WriteRequest): WriteOutcome {
    const write = writes[name]
    if (!write) return { error: new Error(`unknown write: ${name}`) }
    return run(() => write(...(value as never[])))
  }

  function runBatch(
    run: Run,
    name: string,
    calls: readonly WriteRequest[],
  ): [WriteRequest, WriteOutcome][] {
    const outcome = run(() => batches[name]?.(calls.map(({ value }) => value as never)) ?? [])
    return calls.map((request, at) => [
      request,
      'error' in outcome ? outcome : { result: outcome.result[at] },
    ])
  }

  function runAll(run: Run, group: readonly WriteRequest[]): WriteOutcome[] {
    const batched = group.filter(({ name }) => Object.hasOwn(batches, name))
    const done = new Map(
      [...Map.groupBy(batched, ({ name }) => name)].flatMap(([name, calls]) =>
        runBatch(run, name, calls),
      ),
    )
    return group.map((request) => done.get(request) ?? runOne(run, request))
  }

  return function commitGroup(group: readonly WriteRequest[]): WriteOutcome[] {
    let outcomes: WriteOutcome[]
    try {
      begin.run()
      try {
        outcomes = runAll(withoutSavepoint, group)
      } catch {
        if (db.inTransaction) rollback.run()
        begin.run()
        outcomes = runAll(inSavepoint, group)
      }
      const startedAt = performance.now()
      commit.run()
      commitSeconds.observe(store, (performance.now() - startedAt) / 1000)
    } catch (error) {
      if (db.inTransaction) rollback.run()
      const failure = asProblem(error)
      return group.map(() => ({ error: failure }))
    }
    committed()
    return outcomes
  }
}

/** Runs a part of a transaction. */
type Run = <T>(operation: () => T) => { result: T } | { error: unknown }

const withoutSavepoint: Run = (operation) => ({ result: operation() })

/** If the part fails, only that part is rolled back. */
function savepoint(db: Db): Run {
  const save = db.prepare('savepoint one')
  const release = db.prepare('release one')
  const undo = db.prepare('rollback to one')

  return (operation) => {
    save.run()
    try {
      const result = operation()
      release.run()
      return { result }
    } catch (error) {
      // A full disk may have rolled back the whole transaction: then the group has failed.
      if (!db.inTransaction) throw error
      undo.run()
      release.run()
      return { error: asProblem(error) }
    }
  }
}

function asProblem(error: unknown): unknown {
  return hasErrorCode(error, 'SQLITE_FULL')
    ? new Problem('overloaded', 'Storage is full. Try again later.', 60)
    : error
}
