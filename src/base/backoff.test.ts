import { describe, expect, test } from 'vitest'
import { backoffDelay, withJitter } from './time.ts'

describe('backoffDelay', () => {
  for (const [failures, delay] of [
    [-1, 0],
    [0, 0],
    [1, 2],
    [2, 4],
    [5, 32],
    [6, 60],
    [5_000, 60],
  ] as const) {
    test(`is ${delay} after ${failures} failures`, () => {
      expect(backoffDelay(failures, { first: 2, max: 60 })).toBe(delay)
    })
  }

  test('never exceeds the maximum, not even after the first failure', () => {
    expect(backoffDelay(1, { first: 100, max: 60 })).toBe(60)
  })
})

describe('withJitter', () => {
  test('is half to all of the delay', () => {
    expect([0, 0.5, 1].map((random) => withJitter(60, random))).toEqual([30, 45, 60])
  })

  test('is within the bounds given', () => {
    expect([0, 0.5, 1].map((random) => withJitter(60, random, 1, 1.5))).toEqual([60, 75, 90])
  })
})
