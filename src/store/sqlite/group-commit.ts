import { hasErrorCode, Problem } from '../../core/problem.ts'
import type { MailboxId } from '../../core/session.ts'
import type { Db } from './files.ts'

/** Named commands on the one writable connection; each tells which mailboxes it changed. */
type Writes = Record<string, (value: never, touch: Touch) => unknown>
export type Touch = (mailbox: MailboxId) => void
/** Commands of which all that wait are done together, by name: one answer for each, in the same order. */
type Batches = Record<string, (values: readonly never[]) => readonly unknown[]>

export interface WriteRequest {
  name: string
  value: unknown
}

export type WriteOutcome = { result: unknown } | { error: unknown }

/** How a caller asks for a write, wherever the writer is. */
export type Write<W> = <N extends keyof W & string>(
  name: N,
  value: W[N] extends (value: infer V, touch: Touch) => unknown ? V : never,
) => Promise<W[N] extends (...args: never[]) => infer R ? R : never>

/**
 * Runs everything that waits in one transaction and one fsync. Each write has its own savepoint: a bad one fails alone.
 * The outcomes are returned after COMMIT, and after readers' counters were moved.
 */
export function groupCommit(db: Db, writes: Writes, changed: Touch, batches: Batches = {}) {
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const rollback = db.prepare('rollback')
  const apart = savepoint(db)

  function runOne({ name, value }: WriteRequest, touch: Touch): WriteOutcome {
    const write = writes[name]
    if (!write) return { error: new Error(`no write is called ${name}`) }
    return apart(() => write(value as never, touch))
  }

  function runBatch(name: string, alike: readonly WriteRequest[]): [WriteRequest, WriteOutcome][] {
    const outcome = apart(() => batches[name]?.(alike.map(({ value }) => value as never)) ?? [])
    return alike.map((request, at) => [
      request,
      'error' in outcome ? outcome : { result: outcome.result[at] },
    ])
  }

  function runAll(group: readonly WriteRequest[], touch: Touch): WriteOutcome[] {
    const together = group.filter(({ name }) => Object.hasOwn(batches, name))
    const done = new Map(
      [...Map.groupBy(together, ({ name }) => name)].flatMap(([name, alike]) =>
        runBatch(name, alike),
      ),
    )
    return group.map((request) => done.get(request) ?? runOne(request, touch))
  }

  return function commitGroup(group: readonly WriteRequest[]): WriteOutcome[] {
    const touched = new Set<MailboxId>()
    const touch: Touch = (mailbox) => touched.add(mailbox)
    try {
      begin.run()
      const outcomes = runAll(group, touch)
      commit.run()
      for (const mailbox of touched) changed(mailbox)
      return outcomes
    } catch (error) {
      if (db.inTransaction) rollback.run()
      const failure = asProblem(error)
      return group.map(() => ({ error: failure }))
    }
  }
}

/** Runs one part of a transaction so that its failing undoes that part alone. */
function savepoint(db: Db) {
  const save = db.prepare('savepoint one')
  const release = db.prepare('release one')
  const undo = db.prepare('rollback to one')

  return <T>(operation: () => T): { result: T } | { error: unknown } => {
    save.run()
    try {
      const result = operation()
      release.run()
      return { result }
    } catch (error) {
      // A full disk may have rolled everything back already; then the whole group has failed, not this one alone.
      if (!db.inTransaction) throw error
      undo.run()
      release.run()
      return { error: asProblem(error) }
    }
  }
}

function asProblem(error: unknown): unknown {
  return hasErrorCode(error, 'SQLITE_FULL')
    ? new Problem('overloaded', 'There is no space to keep this. Try again later.', 60)
    : error
}
