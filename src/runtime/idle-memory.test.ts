import { expect, test } from 'vitest'
import { shouldCollect } from './idle-memory.ts'

const MB = 1024 * 1024

for (const [name, utilization, grownMb, expected] of [
  ['an idle thread that has grown collects garbage', 0.01, 10, true],
  ['a busy thread does not, however much it has grown', 0.5, 500, false],
  ['an idle thread without growth does not collect again', 0, 1, false],
] as const) {
  test(name, () => {
    expect(shouldCollect({ utilization, grownBytes: grownMb * MB })).toBe(expected)
  })
}
