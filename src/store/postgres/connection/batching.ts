import { Problem } from '../../../core/problem.ts'

const MAX_LOOKUPS = 100
// Each takes a connection. A second one, so that a connection that hangs does not keep everybody waiting.
const MAX_IN_FLIGHT = 2

interface PendingLookup<Key, Found> {
  key: Key
  resolve: (found: Found | undefined) => void
  reject: (error: unknown) => void
}

/**
 * Looks things up together: what is asked for in one turn of the event loop, and while former questions are under way, goes
 * out as one statement. A question is sent after it was asked, so no answer is older than that.
 */
export function batchLookups<Key, Found>(
  find: (keys: readonly Key[]) => Promise<Map<Key, Found>>,
): (key: Key) => Promise<Found | undefined> {
  const asked: PendingLookup<Key, Found>[] = []
  let underWay = 0
  let isDue = false

  function send(): void {
    isDue = false
    while (asked.length > 0 && underWay < MAX_IN_FLIGHT) void answer(asked.splice(0, MAX_LOOKUPS))
  }

  async function answer(group: readonly PendingLookup<Key, Found>[]): Promise<void> {
    underWay += 1
    try {
      const found = await find([...new Set(group.map(({ key }) => key))])
      for (const { key, resolve } of group) resolve(found.get(key))
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
    underWay -= 1
    send()
  }

  return (key) =>
    new Promise((resolve, reject) => {
      asked.push({ key, resolve, reject })
      if (isDue) return
      isDue = true
      setImmediate(send)
    })
}

const MAX_WRITES = 100
const MAX_WRITE_BYTES = 8 * 1024 * 1024

interface PendingWrite<Value, Answer> {
  value: Value
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * Hands on what waits together: one transaction for all, and the next when it is done. So under load many share one commit,
 * and when idle nobody waits for anybody. Of a group that fails each is tried alone, so that a bad one fails alone.
 */
export function batchWrites<Value extends { size: number }, Answer>(
  commit: (values: readonly Value[]) => Promise<Answer[]>,
): (value: Value) => Promise<Answer> {
  type One = PendingWrite<Value, Answer>
  const waiting: One[] = []
  let isBusy = false

  async function commitGroup(group: readonly One[]): Promise<void> {
    try {
      const answers = await commit(group.map(({ value }) => value))
      for (const [at, { resolve }] of group.entries()) resolve(answers[at] as Answer)
    } catch (error) {
      await failGroup(group, error)
    }
  }

  async function failGroup(group: readonly One[], error: unknown): Promise<void> {
    // Nobody is to blame: who waits would meet the same, and hears it now.
    if (error instanceof Problem) for (const { reject } of waiting.splice(0)) reject(error)
    else if (group.length > 1) {
      for (const one of group) await commitGroup([one])
      return
    }
    for (const { reject } of group) reject(error)
  }

  async function work(): Promise<void> {
    if (isBusy) return
    isBusy = true
    while (waiting.length > 0) await commitGroup(waiting.splice(0, batchSize(waiting)))
    isBusy = false
  }

  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject })
      void work()
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
