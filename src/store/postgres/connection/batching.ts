import { Problem } from '../../../base/problem.ts'

const MAX_LOOKUPS = 100
// Each takes a connection. There are two, so that one that hangs does not block all lookups.
const MAX_IN_FLIGHT = 2

interface Pending<Value, Result> {
  value: Value
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Combines lookups: those of one turn of the event loop, and those made while others are in flight, become one statement. A
 * lookup is sent after it was requested, so no result is older than the request.
 */
export function batchLookups<Key, Found>(
  find: (keys: readonly Key[]) => Promise<Map<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  const pending: Pending<Key, Found | undefined>[] = []
  let inFlight = 0
  let isDue = false

  function send(): void {
    isDue = false
    while (pending.length > 0 && inFlight < MAX_IN_FLIGHT) void run(pending.splice(0, MAX_LOOKUPS))
  }

  async function run(batch: readonly Pending<Key, Found | undefined>[]): Promise<void> {
    inFlight += 1
    try {
      const found = await find([...new Set(batch.map(({ value }) => value))])
      for (const { value, resolve } of batch) resolve(found.get(value))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    inFlight -= 1
    send()
  }

  return (key) =>
    new Promise((resolve, reject) => {
      pending.push({ value: key, resolve, reject })
      if (isDue) return
      isDue = true
      setImmediate(send)
    })
}

const MAX_WRITES = 100
const MAX_WRITE_BYTES = 8 * 1024 * 1024

/**
 * Combines writes: all that are waiting become one transaction, one after the other. Under load many share a commit; when idle
 * none waits. If a batch fails, each write is retried alone, so that only the failing one fails.
 */
export function batchWrites<Value extends { size: number }, Result>(
  commit: (values: readonly Value[]) => Promise<Result[]>,
): (value: Value) => Promise<Result> {
  type One = Pending<Value, Result>
  const waiting: One[] = []
  let isBusy = false

  async function commitBatch(batch: readonly One[]): Promise<void> {
    try {
      const results = await commit(batch.map(({ value }) => value))
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Result)
    } catch (error) {
      await failBatch(batch, error)
    }
  }

  async function failBatch(batch: readonly One[], error: unknown): Promise<void> {
    // The store itself failed: the ones waiting would fail too.
    if (error instanceof Problem) for (const { reject } of waiting.splice(0)) reject(error)
    else if (batch.length > 1) {
      for (const one of batch) await commitBatch([one])
      return
    }
    for (const { reject } of batch) reject(error)
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) await commitBatch(waiting.splice(0, batchSize(waiting)))
    isBusy = false
  }

  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject })
      if (isBusy) return
      isBusy = true
      // All writes of this turn of the event loop go together.
      setImmediate(work)
    })
}

function batchSize(waiting: readonly { value: { size: number } }[]): number {
  let bytes = 0
  const over = waiting.findIndex(({ value }) => {
    bytes += value.size
    return bytes > MAX_WRITE_BYTES
  })
  const fitting = over === -1 ? waiting.length : Math.max(over, 1)
  return Math.min(fitting, MAX_WRITES)
}
