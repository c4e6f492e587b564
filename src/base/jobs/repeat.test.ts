import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { openShopFixture, type ShopFixture } from '../../shop/testing/shop.ts'
import { StoreUnavailable } from '../problem.ts'
import { runSweep } from './repeat.ts'

const DAY = 86_400_000

let fixture: ShopFixture
beforeEach(async () => {
  fixture = await openShopFixture('fake')
})
afterEach(() => fixture.stop())

test('expired data is deleted in steps until none is left', async () => {
  await Promise.all(Array.from({ length: 450 }, () => fixture.order()))
  fixture.pass(91 * DAY)
  const recent = await fixture.order()
  const end = new AbortController()
  let steps = 0
  const step = async () => {
    const more = await fixture.shop.sweepShop(fixture.deps.now())
    steps += 1
    if (!more) end.abort()
    return more
  }
  const { log } = fixture.deps
  await runSweep({ step, idleMs: DAY, ended: end.signal, log })
  assert.ok(steps > 1, `${steps} steps`)
  const left = await fixture.shop.listPurchases({ limit: 1_000 })
  assert.deepEqual(
    left.map(({ id }) => id),
    [recent.order.id],
  )
})

test('an error is logged and does not end the sweep', async () => {
  const end = new AbortController()
  const logged: string[] = []
  const log = {
    error: (_facts: object, sentence: string) => {
      logged.push(sentence)
      end.abort()
    },
  }
  const errors = [new StoreUnavailable(), new StoreUnavailable(), new Error('full')]
  const step = () => Promise.reject(errors.shift())
  await runSweep({ step, idleMs: 1, ended: end.signal, log })
  assert.deepEqual(errors, [])
  assert.deepEqual(logged, ['the sweep failed; retrying'])
})
