import { expect, test } from 'vitest'
import { shouldCollect } from './idle-memory.ts'

const MB = 1024 * 1024

for (const [name, idleChecks, keptMb, usedMb, expected] of [
  ['a thread collects garbage once it is idle after its start', 1, 0, 30, true],
  ['later, a thread does that if it has been idle for a while and has grown', 2, 20, 30, true],
  ['a thread between two bursts does not, however much it has grown', 1, 20, 500, false],
  ['an idle thread without growth does not collect again', 9, 20, 21, false],
  ['a busy thread does not', 0, 0, 500, false],
] as const) {
  test(name, () => {
    const bytes = { keptBytes: keptMb * MB, usedBytes: usedMb * MB }
    expect(shouldCollect({ idleChecks, ...bytes })).toBe(expected)
  })
}
