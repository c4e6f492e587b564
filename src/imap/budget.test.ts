import { describe, expect, test } from 'vitest'
import { openBudget } from './budget.ts'
import { DEFAULT_LIMITS } from './options.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const start = Date.UTC(2026, 10, 15, 5)
const at = (ms: number) => new Date(start + ms)
const limits = { ...DEFAULT_LIMITS, messagesPerMinute: 300, bytesPerDay: 2_000_000_000 }

describe('messages per minute', () => {
  test('the allowance is the limit minus the messages used', () => {
    const budget = openBudget(limits)
    expect(budget.messageAllowance(at(0))).toBe(300)
    budget.spend({ messages: 260 }, at(0))
    expect(budget.messageAllowance(at(10))).toBe(40)
  })

  test('an exhausted allowance pauses, then is restored in full', () => {
    const budget = openBudget(limits)
    budget.spend({ messages: 300 }, at(0))
    const pause = budget.messageAllowance(at(1_000))
    expect(pause).toEqual({ until: at(65_000), reason: 'limit of 300 messages per minute reached' })
    expect(budget.messageAllowance(at(60_000))).not.toBe(300)
    expect(budget.messageAllowance(at(65_000))).toBe(300)
  })

  test('no sliding minute exceeds the limit', () => {
    const budget = openBudget(limits)
    const taken: number[] = []
    for (let ms = 0; ms < 5 * MINUTE; ms += 500) {
      const room = budget.messageAllowance(at(ms))
      const count = typeof room === 'number' ? Math.min(room, 50) : 0
      budget.spend({ messages: count }, at(ms))
      taken.push(count)
    }
    const minutes = taken.map((_, from) =>
      taken.slice(from, from + 120).reduce((sum, count) => sum + count, 0),
    )
    expect(Math.max(...minutes)).toBe(300)
    expect(taken.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1_200)
  })
})

describe('bytes per day', () => {
  test('a mail over the limit waits until older ones leave the window', () => {
    const budget = openBudget(limits)
    budget.spend({ bytes: 1_999_000_000 }, at(0))
    expect(budget.byteLimit(1_000_000, at(HOUR))).toBeUndefined()
    expect(budget.byteLimit(1_000_001, at(HOUR))).toEqual({
      until: at(24.5 * HOUR),
      reason: 'daily limit of 2000 MB reached',
    })
    expect(budget.byteLimit(1_000_001, at(24.5 * HOUR))).toBeUndefined()
  })

  test('no messages are examined while the limit is reached', () => {
    const budget = openBudget(limits)
    budget.spend({ bytes: 2_000_000_001 }, at(0))
    expect(budget.messageAllowance(at(1))).toMatchObject({
      reason: 'daily limit of 2000 MB reached',
    })
  })

  test('a mail larger than the limit is fetched when the window is empty', () => {
    const budget = openBudget({ ...limits, bytesPerDay: 1_000 })
    expect(budget.byteLimit(5_000, at(0))).toBeUndefined()
    budget.spend({ bytes: 5_000 }, at(0))
    expect(budget.byteLimit(1, at(1))).toBeDefined()
  })

  test('setting the clock back by a year does not pause fetching for a year', () => {
    const budget = openBudget({ ...limits, bytesPerDay: 1_000 })
    budget.spend({ bytes: 1_000 }, at(0))
    expect(budget.byteLimit(1, at(-365 * 24 * HOUR))).toBeUndefined()
  })
})
