import { describe, expect, test } from 'vitest'
import { openBudget } from './budget.ts'
import { USUAL_LIMITS } from './options.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const start = Date.UTC(2026, 10, 15, 5)
const at = (ms: number) => new Date(start + ms)
const limits = { ...USUAL_LIMITS, messagesPerMinute: 300, bytesPerDay: 2_000_000_000 }

describe('messages a minute', () => {
  test('as many as are left may be looked at', () => {
    const budget = openBudget(limits)
    expect(budget.messages(at(0))).toBe(300)
    budget.spend({ messages: 260 }, at(0))
    expect(budget.messages(at(10))).toBe(40)
  })

  test('then there is a pause, and after it all of them again', () => {
    const budget = openBudget(limits)
    budget.spend({ messages: 300 }, at(0))
    const pause = budget.messages(at(1_000))
    expect(pause).toEqual({ until: at(65_000), reason: 'near its limit of 300 messages a minute' })
    expect(budget.messages(at(60_000))).not.toBe(300)
    expect(budget.messages(at(65_000))).toBe(300)
  })

  test('no minute, wherever it begins, has more', () => {
    const budget = openBudget(limits)
    const taken: number[] = []
    for (let ms = 0; ms < 5 * MINUTE; ms += 500) {
      const room = budget.messages(at(ms))
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

describe('bytes a day', () => {
  test('a mail that would be too much waits until old ones count no more', () => {
    const budget = openBudget(limits)
    budget.spend({ bytes: 1_999_000_000 }, at(0))
    expect(budget.bytes(1_000_000, at(HOUR))).toBeUndefined()
    expect(budget.bytes(1_000_001, at(HOUR))).toEqual({
      until: at(24.5 * HOUR),
      reason: 'near its limit of 2000 MB a day',
    })
    expect(budget.bytes(1_000_001, at(24.5 * HOUR))).toBeUndefined()
  })

  test('nothing is looked at either while they are used up', () => {
    const budget = openBudget(limits)
    budget.spend({ bytes: 2_000_000_001 }, at(0))
    expect(budget.messages(at(1))).toMatchObject({ reason: 'near its limit of 2000 MB a day' })
  })

  test('a mail larger than all of it is fetched when nothing else was', () => {
    const budget = openBudget({ ...limits, bytesPerDay: 1_000 })
    expect(budget.bytes(5_000, at(0))).toBeUndefined()
    budget.spend({ bytes: 5_000 }, at(0))
    expect(budget.bytes(1, at(1))).toBeDefined()
  })

  test('a clock that is set back by a year does not stop the fetching for one', () => {
    const budget = openBudget({ ...limits, bytesPerDay: 1_000 })
    budget.spend({ bytes: 1_000 }, at(0))
    expect(budget.bytes(1, at(-365 * 24 * HOUR))).toBeUndefined()
  })
})
