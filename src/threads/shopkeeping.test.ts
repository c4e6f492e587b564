import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { scratchShop } from '../../test/scratch.ts'
import { readConfig } from '../config.ts'
import { startShopkeeping } from './shopkeeping.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

let shop: Awaited<ReturnType<typeof scratchShop>>
beforeEach(async () => {
  shop = await scratchShop()
})
afterEach(() => shop.close())

test('the shop is swept also where keys are issued by hand', async () => {
  const { config } = readConfig({ env: {}, file: {} })
  const swept = Promise.withResolvers<Date>()
  const store = {
    ...shop.store,
    async sweepShop(now: Date) {
      swept.resolve(now)
      return await shop.store.sweepShop(now)
    },
  }
  const stop = await startShopkeeping(config, { shop: store, now: () => NOON, log: quiet })
  assert.deepEqual(await swept.promise, NOON)
  await stop()
})
