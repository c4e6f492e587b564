import { afterEach, beforeEach, expect, test } from 'vitest'
import { openShopFixture, type ShopFixture } from '../../../test/kit/shop/shop.ts'
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
  expect(steps, `${steps} steps`).toBeGreaterThan(1)
  const left = await fixture.shop.listOrders({ limit: 1_000 })
  expect(left.map(({ id }) => id)).toStrictEqual([recent.order.id])
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
  expect(errors).toStrictEqual([])
  expect(logged).toStrictEqual(['the sweep failed; retrying'])
})
