import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Limit } from './limit.ts'

const START = new Date('2026-03-01T12:00:00Z')
const at = (ms: number) => new Date(START.getTime() + ms)
const RATE = { count: 10, seconds: 1, burst: 5 } // one each 100 ms

/** The contract of every limit. `open` returns two ends, as on two threads or nodes. */
export function limitContract(open: () => Promise<[Limit, Limit]>): void {
  let here: Limit
  let there: Limit

  beforeEach(async () => {
    const ends = await open()
    here = ends[0]
    there = ends[1]
  })
  afterEach(async () => {
    await here.close()
    await there.close()
  })

  const passed = async (times: number, ms: number, key = 'ann') => {
    let count = 0
    for (let attempt = 0; attempt < times; attempt += 1) {
      const limit = attempt % 2 === 0 ? here : there
      if ((await limit.take(key, RATE, at(ms))) === 0) count += 1
    }
    return count
  }

  test('a burst passes over both ends, and no more', async () => {
    expect(await passed(20, 0)).toBe(5)
  })

  test('after a burst one request passes per interval', async () => {
    await passed(20, 0)
    expect(await passed(5, 100)).toBe(1)
    expect(await passed(5, 300)).toBe(2)
  })

  test('an idle key gets its full burst back, and no more', async () => {
    await passed(20, 0)
    expect(await passed(20, 60_000)).toBe(5)
  })

  test('a request passes after the returned wait', async () => {
    await passed(20, 0)
    const wait = await here.take('ann', RATE, at(0))
    expect(wait).toBe(100)
    expect(await here.take('ann', RATE, at(wait))).toBe(0)
  })

  test('peek takes nothing and returns what take would', async () => {
    for (let count = 0; count < 20; count += 1) {
      expect(await here.peek('ann', RATE, at(0))).toBe(0)
    }
    expect(await passed(20, 0)).toBe(5)
    expect(await there.peek('ann', RATE, at(0))).toBe(100)
    expect(await here.peek('ann', RATE, at(60))).toBe(40)
    expect(await here.peek('ann', RATE, at(100))).toBe(0)
    expect(await here.peek('bob', RATE, at(0))).toBe(0)
    expect(await passed(5, 100)).toBe(1)
  })

  test('keys do not affect each other', async () => {
    await passed(20, 0)
    expect(await passed(20, 0, 'bob')).toBe(5)
  })

  test('spending is counted over both ends, even beyond the allowance', async () => {
    const rate = { ...RATE, overdraft: 5 }
    await here.spend('ann', 3, rate, at(0))
    expect(await there.peek('ann', rate, at(0))).toBe(0)
    await there.spend('ann', 4, rate, at(0))
    // Overdrawn by two, which must be regained first.
    expect(await here.peek('ann', rate, at(0))).toBe(300)
    expect(await there.peek('ann', rate, at(299))).toBe(1)
    expect(await there.peek('ann', rate, at(300))).toBe(0)
    expect(await here.peek('bob', rate, at(0))).toBe(0)
  })

  test('the wait after spending far too much is limited by the overdraft', async () => {
    const rate = { ...RATE, overdraft: 5 }
    await here.spend('ann', 1_000, rate, at(0))
    expect(await there.peek('ann', rate, at(0))).toBe(600)
    await here.spend('bob', 1_000, RATE, at(0))
    expect(await there.peek('bob', RATE, at(0))).toBe(100)
  })

  test('a clock that steps back locks no key out for longer than a burst', async () => {
    await passed(20, 3_600_000)
    expect(await passed(20, 500)).toBe(0)
    expect(await passed(20, 1_000)).toBe(5)
  })
}
