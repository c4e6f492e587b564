import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { keyRing, type TestKey } from '../../test/kit/shop/keys.ts'
import { openSqliteTestShop } from '../../test/kit/store/stores.ts'
import { Problem } from '../base/problem.ts'
import { makeRates, openMemoryLimit } from '../limit/memory.ts'
import type { ShopStore } from '../store/store.ts'
import { type Caller, reauthenticateKey } from './authenticate-key.ts'
import { withCharge } from './charge.ts'
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
  testKeys: false,
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
  const outcome = await withCharge(chargeDeps, { key: found, caller }, operation).then(
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
    expect(await runCharged(key, operation)).toStrictEqual({ outcome: 'done', left: [10, 9] })
    expect(usedBefore).toBe(1)
    expect(await keys().used(key)).toBe(1)
  })

  test('that fails costs nothing, and the caller sees the refund', async () => {
    const key = await keys().issue({ requests: 10, perDay: 5 })
    const fault = () => Promise.reject(new Error('broken'))
    expect(await runCharged(key, fault)).toStrictEqual({
      outcome: 'Error: broken',
      left: [10, 9, 10],
    })
    const { used, usedToday } = (await shop.readKey(key.id, now)) ?? {}
    expect([used, usedToday]).toStrictEqual([0, 0])
  })

  test('that fails after midnight is refunded to the day it was charged to', async () => {
    const key = await keys().issue({ requests: 10, perDay: 5 })
    await runCharged(key, async () => {
      now = new Date('2026-03-02T00:00:01Z')
      await shop.chargeRequest(key.id, now)
      throw new Error('broken')
    })
    const { used, usedToday } = (await shop.readKey(key.id, now)) ?? {}
    expect([used, usedToday]).toStrictEqual([1, 1])
  })

  test('does not run if another request took the last one, and the error gives the reason', async () => {
    for (const [quota, expected] of [
      [{ requests: 1 }, 'quota_exhausted'],
      [{ requests: 9, perDay: 1 }, 'daily_limit'],
    ] as const) {
      const key = await keys().issue(quota)
      const caller = callerOf(key)
      const found = await reauthenticateKey(deps(), caller)
      await shop.chargeRequest(key.id, now)
      const operation = () => expect.fail('it was done')
      const refused = (error: unknown) => error instanceof Problem && error.code === expected
      await expect(withCharge(deps(), { key: found, caller }, operation)).rejects.toSatisfy(refused)
      expect(caller.left.at(-1)).toStrictEqual(quota.requests - 1)
    }
  })

  test('does not run if the key has been revoked since authentication', async () => {
    const key = await keys().issue()
    const caller = callerOf(key)
    const found = await reauthenticateKey(deps(), caller)
    await shop.revokeKey(key.id)
    const operation = () => expect.fail('it was done')
    const refused = (error: unknown) => error instanceof Problem && error.code === 'invalid_key'
    await expect(withCharge(deps(), { key: found, caller }, operation)).rejects.toSatisfy(refused)
  })

  test('runs if a request is refunded while it is being refused', async () => {
    const key = await keys().issue({ requests: 1 })
    await shop.chargeRequest(key.id, now)
    const refunding = deps({
      chargeRequest: async (...charge) => {
        const charged = await shop.chargeRequest(...charge)
        if (!charged) await shop.refundRequest(key.id, { day: utcDay(now), period: 0 })
        return charged
      },
    })
    const caller = callerOf(key)
    const found = await shop.readKey(key.id, now)
    expect.assert(found)
    expect(await withCharge(refunding, { key: found, caller }, async () => 'done')).toBe('done')
    expect(await keys().used(key)).toBe(1)
  })
})

test('a failed refund is reported together with the error of the operation', async () => {
  const key = await keys().issue()
  const found = await shop.readKey(key.id, now)
  expect.assert(found)
  const chargeDeps = deps({ refundRequest: () => Promise.reject(new Error('no disk')) })
  const operation = () => Promise.reject(new Error('no mail'))
  await expect(
    withCharge(chargeDeps, { key: found, caller: callerOf(key) }, operation),
  ).rejects.toSatisfy((error) => {
    expect.assert(error instanceof AggregateError)
    expect(error.errors.map(({ message }) => message)).toStrictEqual(['no mail', 'no disk'])
    return true
  })
})
