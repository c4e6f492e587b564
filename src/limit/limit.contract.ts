import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import type { Limit } from './limit.ts'

const START = new Date('2026-03-01T12:00:00Z')
const at = (ms: number) => new Date(START.getTime() + ms)
const RATE = { count: 10, seconds: 1, burst: 5 } // one each 100 ms

/** What every limit must do. `open` gives two ends, as two threads or nodes have them. */
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
    for (let asked = 0; asked < times; asked += 1) {
      const limit = asked % 2 === 0 ? here : there
      if ((await limit.take(key, RATE, at(ms))) === 0) count += 1
    }
    return count
  }

  test('a burst passes, counted over both ends, and no more', async () => {
    assert.equal(await passed(20, 0), 5)
  })

  test('afterwards one passes each step', async () => {
    await passed(20, 0)
    assert.equal(await passed(5, 100), 1)
    assert.equal(await passed(5, 300), 2)
  })

  test('a rested key has its whole burst again, and no more than that', async () => {
    await passed(20, 0)
    assert.equal(await passed(20, 60_000), 5)
  })

  test('the answer says how long to wait, and then it passes', async () => {
    await passed(20, 0)
    const wait = await here.take('ann', RATE, at(0))
    assert.equal(wait, 100)
    assert.equal(await here.take('ann', RATE, at(wait)), 0)
  })

  test('a look takes nothing, and says what a take would', async () => {
    for (let looked = 0; looked < 20; looked += 1) {
      assert.equal(await here.look('ann', RATE, at(0)), 0)
    }
    assert.equal(await passed(20, 0), 5)
    assert.equal(await there.look('ann', RATE, at(0)), 100)
    assert.equal(await here.look('ann', RATE, at(60)), 40)
    assert.equal(await here.look('ann', RATE, at(100)), 0)
    assert.equal(await here.look('bob', RATE, at(0)), 0)
    assert.equal(await passed(5, 100), 1)
  })

  test('one key does not use up another', async () => {
    await passed(20, 0)
    assert.equal(await passed(20, 0, 'bob'), 5)
  })

  test('what is spent is counted over both ends, also beyond what is left', async () => {
    const rate = { ...RATE, overdraft: 5 }
    await here.spend('ann', 3, rate, at(0))
    assert.equal(await there.look('ann', rate, at(0)), 0)
    await there.spend('ann', 4, rate, at(0))
    // Two more than there were: they are made up for before another passes.
    assert.equal(await here.look('ann', rate, at(0)), 300)
    assert.equal(await there.look('ann', rate, at(299)), 1)
    assert.equal(await there.look('ann', rate, at(300)), 0)
    assert.equal(await here.look('bob', rate, at(0)), 0)
  })

  test('whoever spends far too much waits for the overdraft, and no longer', async () => {
    const rate = { ...RATE, overdraft: 5 }
    await here.spend('ann', 1_000, rate, at(0))
    assert.equal(await there.look('ann', rate, at(0)), 600)
    await here.spend('bob', 1_000, RATE, at(0))
    assert.equal(await there.look('bob', RATE, at(0)), 100)
  })

  test('a clock that steps back locks nobody out for longer than a burst takes', async () => {
    await passed(20, 3_600_000)
    assert.equal(await passed(20, 500), 0)
    assert.equal(await passed(20, 1_000), 5)
  })
}
