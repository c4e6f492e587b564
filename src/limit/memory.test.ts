import { describe, expect, test } from 'vitest'
import { limitContract } from './limit.contract.ts'
import { makeRates, openMemoryLimit } from './memory.ts'
import {
  makeCounters,
  makeSharedBudget,
  openCounters,
  openSharedBudget,
} from './shared-counters.ts'

describe('rates of one node', () =>
  limitContract(async () => {
    const shared = makeRates()
    return [openMemoryLimit(shared), openMemoryLimit(shared)]
  }))

test('a flood of new keys passes, and known keys are still counted', async () => {
  const limit = openMemoryLimit(makeRates())
  const rate = { count: 1, seconds: 3600, burst: 1 }
  const now = new Date()
  let passed = 0
  for (let key = 0; key < 20_000; key += 1) {
    if ((await limit.take(`key ${key}`, rate, now)) === 0) passed += 1
  }
  expect(passed, `${passed} strangers passed`).toBeGreaterThan(19_900)
  let again = 0
  for (let key = 0; key < 20_000; key += 1) {
    if ((await limit.take(`key ${key}`, rate, now)) === 0) again += 1
  }
  expect(again, `${again} passed a second time`).toBeLessThan(100)
})

describe('shared counters', () => {
  test('the last slot is acquired once over both handles, and released once', () => {
    const shared = makeCounters()
    const [here, there] = [openCounters(shared), openCounters(shared)]
    const first = here.hold('ann', 2)
    expect.assert(first && there.hold('ann', 2))
    expect(here.hold('ann', 2)).toBeUndefined()
    expect.assert(there.hold('bob', 2))
    first()
    first()
    expect(there.hold('ann', 2)).toBeTruthy()
    expect(here.hold('ann', 2)).toBeUndefined()
  })

  test('a budget is never overdrawn, and a failed reservation takes nothing', () => {
    const shared = makeSharedBudget()
    const [here, there] = [openSharedBudget(shared, 100), openSharedBudget(shared, 100)]
    expect(here.reserve(60)).toBe(true)
    expect(there.reserve(41)).toBe(false)
    expect(there.reserve(40)).toBe(true)
    here.release(60)
    expect(there.reserve(60)).toBe(true)
  })
})
