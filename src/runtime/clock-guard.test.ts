import { expect, test } from 'vitest'
import { type ClockState, nextClockState } from './clock-guard.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Minutes by which the wall clock and the monotonic clock advance, and whether the wall clock is trusted afterwards. */
type Step = readonly [wall: number, monotonic: number, trusted: boolean]

const CASES: [string, Step[]][] = [
  [
    'both in step, for days',
    [
      [1, 1, true],
      [600, 600, true],
      [3_000, 3_000, true],
    ],
  ],
  ['a jump ahead of exactly 5 minutes', [[6, 1, true]]],
  ['a jump ahead of more', [[6.1, 1, false]]],
  [
    'two small jumps within an hour',
    [
      [4, 1, true],
      [4, 1, false],
    ],
  ],
  [
    'small jumps hours apart',
    [
      [64, 60, true],
      [64, 60, true],
      [64, 60, true],
    ],
  ],
  [
    'a jump, then an hour in step',
    [
      [900, 1, false],
      [59, 59, false],
      [1, 1, true],
    ],
  ],
  [
    'a jump, then another within the hour',
    [
      [900, 1, false],
      [70, 59, false],
      [59, 59, false],
      [1, 1, true],
    ],
  ],
  [
    'a jump that is corrected, then an hour in step',
    [
      [900, 1, false],
      [-889, 10, false],
      [59, 59, false],
      [1, 1, true],
    ],
  ],
  [
    'a step back',
    [
      [-900, 1, true],
      [60, 60, true],
    ],
  ],
  [
    'a suspended machine',
    [
      [480, 0, false],
      [60, 60, true],
    ],
  ],
  ['a jump between two samples that are hours apart', [[1_500, 180, false]]],
]

for (const [name, steps] of CASES) {
  test(`${name}: ${steps.map(([, , trusted]) => (trusted ? 'trusted' : 'not trusted')).join(', ')}`, () => {
    const sample = { wallMs: 1_700_000_000_000, monotonicMs: 5 * HOUR }
    let state: ClockState = nextClockState(undefined, sample)
    for (const [wall, monotonic, trusted] of steps) {
      sample.wallMs += wall * MINUTE
      sample.monotonicMs += monotonic * MINUTE
      state = nextClockState(state, sample)
      expect(state.jumpedMs === undefined).toBe(trusted)
    }
  })
}
