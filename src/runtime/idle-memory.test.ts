import { expect, test } from 'vitest'
import { shouldCollect } from './idle-memory.ts'

const MB = 1024 * 1024

for (const [name, idleChecks, workedMs, keptMb, usedMb, expected] of [
  ['a thread collects garbage once it is idle after its start', 1, 500, 0, 30, true],
  ['and again after a little work that let it grow', 1, 500, 20, 30, true],
  ['after more work it keeps its code, however much it has grown', 29, 5_000, 20, 500, false],
  ['and collects garbage once it has been idle for five minutes', 30, 5_000, 20, 30, true],
  ['an idle thread without growth does not collect again', 99, 0, 20, 21, false],
  ['a busy thread does not', 0, 0, 0, 500, false],
] as const) {
  test(name, () => {
    const bytes = { keptBytes: keptMb * MB, usedBytes: usedMb * MB }
    expect(shouldCollect({ idleChecks, workedMs, ...bytes })).toBe(expected)
  })
}
