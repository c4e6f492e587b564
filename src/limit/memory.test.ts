import assert from 'node:assert/strict'
import { describe, test } from 'vitest'
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
  assert.ok(passed > 19_900, `${passed} strangers passed`)
  let again = 0
  for (let key = 0; key < 20_000; key += 1) {
    if ((await limit.take(`key ${key}`, rate, now)) === 0) again += 1
  }
  assert.ok(again < 100, `${again} passed a second time`)
})

describe('shared counters', () => {
  test('the last slot is acquired once over both handles, and released once', () => {
    const shared = makeCounters()
    const [here, there] = [openCounters(shared), openCounters(shared)]
    const first = here.hold('ann', 2)
    assert.ok(first && there.hold('ann', 2))
    assert.equal(here.hold('ann', 2), undefined)
    assert.ok(there.hold('bob', 2))
    first()
    first()
    assert.ok(there.hold('ann', 2))
    assert.equal(here.hold('ann', 2), undefined)
  })

  test('a budget is never overdrawn, and a failed reservation takes nothing', () => {
    const shared = makeSharedBudget()
    const [here, there] = [openSharedBudget(shared, 100), openSharedBudget(shared, 100)]
    assert.equal(here.reserve(60), true)
    assert.equal(there.reserve(41), false)
    assert.equal(there.reserve(40), true)
    here.release(60)
    assert.equal(there.reserve(60), true)
  })
})
