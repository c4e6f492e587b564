import { describe, expect, test } from 'vitest'
import { openBudget } from './budget.ts'

const HOUR = 60 * 60_000
const start = Date.UTC(2026, 10, 15, 5)
const at = (ms: number) => new Date(start + ms)
const limits = { bytesPerDay: 2_000_000_000 }

describe('bytes per day', () => {
  test('a mail over the limit waits until older ones leave the window', () => {
    const budget = openBudget(limits)
    budget.spend(1_999_000_000, at(0))
    expect(budget.pauseFor(1_000_000, at(HOUR))).toBeUndefined()
    expect(budget.pauseFor(1_000_001, at(HOUR))).toEqual({
      until: at(24.5 * HOUR),
      reason: 'daily limit of 2000 MB reached',
    })
    expect(budget.pauseFor(1_000_001, at(24.5 * HOUR))).toBeUndefined()
  })

  test('no messages are examined while the limit is reached', () => {
    const budget = openBudget(limits)
    budget.spend(2_000_000_001, at(0))
    expect(budget.pauseFor(0, at(1))).toMatchObject({
      reason: 'daily limit of 2000 MB reached',
    })
  })

  test('a mail larger than the limit is fetched when the window is empty', () => {
    const budget = openBudget({ bytesPerDay: 1_000 })
    expect(budget.pauseFor(5_000, at(0))).toBeUndefined()
    budget.spend(5_000, at(0))
    expect(budget.pauseFor(1, at(1))).toBeDefined()
  })

  test('setting the clock back by a year does not pause fetching for a year', () => {
    const budget = openBudget({ bytesPerDay: 1_000 })
    budget.spend(1_000, at(0))
    expect(budget.pauseFor(1, at(-365 * 24 * HOUR))).toBeUndefined()
  })
})
