import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { keyRing, type TestKey } from '../../test/support/keys.ts'
import { openSqliteTestShop } from '../../test/support/stores.ts'
import { Problem } from '../base/problem.ts'
import { makeRates, openMemoryLimit } from '../limit/memory.ts'
import { fakeProvider } from '../shop/pay/open.ts'
import type { ShopStore } from '../store/store.ts'
import { type Caller, reauthenticateKey } from './authenticate-key.ts'
import { charge } from './charge.ts'
import { utcDay } from './rules.ts'

let shop: ShopStore
let close: () => Promise<void>
beforeAll(async () => {
  const scratch = await openSqliteTestShop()
  shop = scratch.store
  close = scratch.close
})
afterAll(() => close())

let now: Date
beforeEach(() => {
  now = new Date('2026-03-01T12:00:00Z')
})
const keys = () => keyRing(shop, () => now)
const deps = (more: Partial<ShopStore> = {}) => ({
  shop: { ...shop, ...more },
  pay: { ...fakeProvider(), mode: 'live' as const },
  limit: openMemoryLimit(makeRates()),
  now: () => now,
})
const callerOf = ({ secret }: TestKey): Caller & { left: number[] } => {
  const left: number[] = []
  return {
    keyText: secret,
    client: undefined,
    shopUrl: '',
    seen: (key) => left.push(key.maxRequests - key.used),
    left,
  }
}

/** Like a request that has just been authenticated. */
async function runCharged(key: TestKey, operation: () => Promise<unknown>, chargeDeps = deps()) {
  const caller = callerOf(key)
  const found = await reauthenticateKey(chargeDeps, caller)
  const outcome = await charge(chargeDeps, { key: found, caller }, operation).then(
    () => 'done',
    (error) => (error instanceof Problem ? error.code : String(error)),
  )
  return { outcome, left: caller.left }
}

describe('an operation', () => {
  test('costs one request, charged before it runs', async () => {
    const key = await keys().issue({ requests: 10 })
    let usedBefore: number | undefined
    const operation = async () => {
      usedBefore = await keys().used(key)
    }
    assert.deepEqual(await runCharged(key, operation), { outcome: 'done', left: [10, 9] })
    assert.equal(usedBefore, 1)
    assert.equal(await keys().used(key), 1)
  })

  test('that fails costs nothing, and the caller sees the refund', async () => {
    const key = await keys().issue({ requests: 10, perDay: 5 })
    const fault = () => Promise.reject(new Error('broken'))
    assert.deepEqual(await runCharged(key, fault), { outcome: 'Error: broken', left: [10, 9, 10] })
    const { used, usedToday } = (await shop.readKey(key.id, now)) ?? {}
    assert.deepEqual([used, usedToday], [0, 0])
  })

  test('that fails after midnight is refunded to the day it was charged to', async () => {
    const key = await keys().issue({ requests: 10, perDay: 5 })
    await runCharged(key, async () => {
      now = new Date('2026-03-02T00:00:01Z')
      await shop.spendRequest(key.id, now)
      throw new Error('broken')
    })
    const { used, usedToday } = (await shop.readKey(key.id, now)) ?? {}
    assert.deepEqual([used, usedToday], [1, 1])
  })

  test('does not run if another request took the last one, and the error gives the reason', async () => {
    for (const [quota, expected] of [
      [{ requests: 1 }, 'quota_exhausted'],
      [{ requests: 9, perDay: 1 }, 'daily_limit'],
    ] as const) {
      const key = await keys().issue(quota)
      const caller = callerOf(key)
      const found = await reauthenticateKey(deps(), caller)
      await shop.spendRequest(key.id, now)
      const operation = () => assert.fail('it was done')
      const refused = (error: unknown) => error instanceof Problem && error.code === expected
      await assert.rejects(charge(deps(), { key: found, caller }, operation), refused)
      assert.deepEqual(caller.left.at(-1), quota.requests - 1)
    }
  })

  test('does not run if the key has been revoked since authentication', async () => {
    const key = await keys().issue()
    const caller = callerOf(key)
    const found = await reauthenticateKey(deps(), caller)
    await shop.revokeKey(key.id)
    const operation = () => assert.fail('it was done')
    const refused = (error: unknown) => error instanceof Problem && error.code === 'invalid_key'
    await assert.rejects(charge(deps(), { key: found, caller }, operation), refused)
  })

  test('runs if a request is refunded while it is being refused', async () => {
    const key = await keys().issue({ requests: 1 })
    await shop.spendRequest(key.id, now)
    const refunding = deps({
      spendRequest: async (...spend) => {
        const spent = await shop.spendRequest(...spend)
        if (!spent) await shop.returnRequest(key.id, { day: utcDay(now), period: 0 })
        return spent
      },
    })
    const caller = callerOf(key)
    const found = await shop.readKey(key.id, now)
    assert.ok(found)
    assert.equal(await charge(refunding, { key: found, caller }, async () => 'done'), 'done')
    assert.equal(await keys().used(key), 1)
  })
})

test('a failed refund is reported together with the error of the operation', async () => {
  const key = await keys().issue()
  const found = await shop.readKey(key.id, now)
  assert.ok(found)
  const chargeDeps = deps({ returnRequest: () => Promise.reject(new Error('no disk')) })
  const operation = () => Promise.reject(new Error('no mail'))
  await assert.rejects(
    charge(chargeDeps, { key: found, caller: callerOf(key) }, operation),
    (error) => {
      assert.ok(error instanceof AggregateError)
      assert.deepEqual(
        error.errors.map(({ message }) => message),
        ['no mail', 'no disk'],
      )
      return true
    },
  )
})
