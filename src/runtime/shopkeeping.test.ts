import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { scratchMail, scratchShop } from '../../test/scratch.ts'
import { readConfig } from '../config/config.ts'
import type { MailStore } from '../store/store.ts'
import { startShopkeeping } from './shopkeeping.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
type Leases = Pick<MailStore, 'takeLease' | 'endLease'>
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

let shop: Awaited<ReturnType<typeof scratchShop>>
let mail: Awaited<ReturnType<typeof scratchMail>>
beforeEach(async () => {
  shop = await scratchShop()
  mail = await scratchMail()
})
afterEach(async () => {
  await shop.close()
  await mail.close()
})

const start = (store: Leases, swept: () => void) => {
  const { config } = readConfig({ env: {}, file: {} })
  const sweepShop = async (now: Date) => {
    swept()
    return await shop.store.sweepShop(now)
  }
  const deps = { store, shop: { ...shop.store, sweepShop }, now: () => NOON, log: quiet }
  return startShopkeeping(config, deps)
}

test('the shop is swept also where keys are issued by hand', async () => {
  const swept = Promise.withResolvers<void>()
  const stop = await start(mail.store, swept.resolve)
  await swept.promise
  await stop()
})

test('of two nodes one keeps the shop; when it stops, the other does', async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stopFirst = await start(mail.store, first.resolve)
  await first.promise
  const answered = Promise.withResolvers<boolean>()
  const told: Leases = {
    ...mail.other,
    async takeLease(lease) {
      const taken = await mail.other.takeLease(lease)
      answered.resolve(taken)
      return taken
    },
  }
  const stopSecond = await start(told, second.resolve)
  assert.equal(await answered.promise, false)
  await stopFirst()
  await second.promise
  await stopSecond()
})
