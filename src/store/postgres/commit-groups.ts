import { Problem } from '../../core/problem.ts'

const MOST_AT_ONCE = 100
const MOST_BYTES = 8 * 1024 * 1024

interface Task<Value, Answer> {
  value: Value
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * Hands on what waits together: one transaction for all, and the next when it is done. So under load many share one commit,
 * and when idle nobody waits for anybody. Of a group that fails each is tried alone, so that a bad one fails alone.
 */
export function commitInGroups<Value extends { size: number }, Answer>(
  commit: (values: readonly Value[]) => Promise<Answer[]>,
): (value: Value) => Promise<Answer> {
  type One = Task<Value, Answer>
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
    while (waiting.length > 0) await commitGroup(waiting.splice(0, groupSize(waiting)))
    isBusy = false
  }

  return (value) =>
    new Promise((resolve, reject) => {
      waiting.push({ value, resolve, reject })
      void work()
    })
}

function groupSize(waiting: readonly { value: { size: number } }[]): number {
  let bytes = 0
  const over = waiting.findIndex(({ value }) => {
    bytes += value.size
    return bytes > MOST_BYTES
  })
  const fitting = over === -1 ? waiting.length : Math.max(over, 1)
  return Math.min(fitting, MOST_AT_ONCE)
}
