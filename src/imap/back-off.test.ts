import { describe, expect, test } from 'vitest'
import { pauseAfter } from './back-off.ts'
import type { FaultKind } from './fault.ts'
import { USUAL_TEMPO } from './options.ts'

const { pause } = USUAL_TEMPO
const MINUTE = 60_000

function seconds(kind: FaultKind, failures: number, random: number): number {
  return pauseAfter(kind, failures, { pause, random }) / 1_000
}

describe('how long to wait', () => {
  for (const [kind, failures, least, most] of [
    ['lost', 1, 0.5, 1],
    ['lost', 2, 1, 2],
    ['unreachable', 5, 8, 16],
    ['lost', 50, 150, 300],
    ['certificate', 5_000, 150, 300],
    ['throttled', 1, 900, 1_125],
    ['throttled', 3, 3_600, 4_500],
    ['throttled', 50, 14_400, 18_000],
    ['login', 1, 300, 375],
    ['login', 9, 14_400, 18_000],
  ] as const) {
    test(`${kind}, ${failures} times: from ${least} to ${most} seconds`, () => {
      expect(seconds(kind, failures, 0)).toBe(least)
      expect(seconds(kind, failures, 1)).toBe(most)
    })
  }
})

test('a limit of the server is never tried again within a quarter of an hour', () => {
  for (let failures = 1; failures < 100; failures += 1) {
    expect(pauseAfter('throttled', failures, { pause, random: 0 })).toBeGreaterThanOrEqual(
      15 * MINUTE,
    )
  }
})
