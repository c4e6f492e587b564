import { describe, expect, test } from 'vitest'
import { retryDelaySeconds } from './retry.ts'

describe('the retry delay', () => {
  for (const [name, failures, random, retryAfter, seconds] of [
    ['is at least half a second after the first failure', 1, 0, 0, 0.5],
    ['is at most a second after the first failure', 1, 1, 0, 1],
    ['doubles with the second', 2, 1, 0, 2],
    ['is at most half a minute', 40, 1, 0, 30],
    ['has jitter', 40, 0, 0, 15],
    ['is not shorter than Retry-After', 1, 0, 90, 90],
    ['has jitter on top of Retry-After', 1, 1, 100, 110],
  ] as const) {
    test(name, () => {
      expect(Math.abs(retryDelaySeconds(failures, random, retryAfter) - seconds)).toBeLessThan(1e-9)
    })
  }
})
