import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
import { barHeights, dayForKey } from './bars.ts'

for (const [name, counts, heights] of [
  ['the busiest day reaches the top', [2, 4, 1], [0.5, 1, 0.25]],
  ['a day without requests has no bar', [0, 5], [0, 1]],
  ['a few requests are visible beside many', [1, 10_000], [0.03, 1]],
  ['no requests, no bars', [0, 0], [0, 0]],
] as const) {
  test(name, () => assert.deepEqual(barHeights(counts), heights))
}

describe('keys move between days', () => {
  for (const [key, at, to] of [
    ['ArrowLeft', 5, 4],
    ['ArrowRight', 5, 6],
    ['ArrowLeft', 0, 0],
    ['ArrowRight', 29, 29],
    ['PageUp', 5, 12],
    ['PageDown', 5, 0],
    ['Home', 5, 0],
    ['End', 5, 29],
    ['Tab', 5, undefined],
  ] as const) {
    test(`${key} from ${at}`, () => assert.equal(dayForKey(key, at, 30), to))
  }
})
