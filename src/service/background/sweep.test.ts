import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { StoreAway } from '../../core/problem.ts'
import { sweepForEver } from './sweep.ts'
import { openShopScene, type ShopScene } from '../testing/shop.ts'

const DAY = 86_400_000

let scene: ShopScene
beforeEach(async () => {
  scene = await openShopScene('fake')
})
afterEach(() => scene.stop())

test('what nobody needs any more goes by itself, step by step, until it is told to end', async () => {
  await Promise.all(Array.from({ length: 450 }, () => scene.order()))
  scene.pass(91 * DAY)
  const young = await scene.order()
  const end = new AbortController()
  let steps = 0
  const step = async () => {
    const more = await scene.shop.sweepShop(scene.needs.now())
    steps += 1
    if (!more) end.abort()
    return more
  }
  const { log } = scene.needs
  await sweepForEver({ step, restMs: DAY, ended: end.signal, log })
  assert.ok(steps > 1, `${steps} steps`)
  const left = await scene.shop.listPurchases(1_000)
  assert.deepEqual(
    left.map(({ id }) => id),
    [young.order.id],
  )
})

test('a fault is told to the operator, and is not the end', async () => {
  const end = new AbortController()
  const faults: string[] = []
  const log = {
    error: (_facts: object, sentence: string) => {
      faults.push(sentence)
      end.abort()
    },
  }
  const met = [new StoreAway(), new StoreAway(), new Error('full')]
  const step = () => Promise.reject(met.shift())
  await sweepForEver({ step, restMs: 1, ended: end.signal, log })
  assert.deepEqual(met, [])
  assert.deepEqual(faults, ['the sweep failed and is tried again'])
})
