import assert from 'node:assert/strict'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { keyRing, type TestKey } from '../../../test/support/keys.ts'
import { openSqliteTestShop } from '../../../test/support/stores.ts'
import { utcDay } from '../../core/key.ts'
import { Problem } from '../../core/problem.ts'
import { makeRates, openMemoryLimit } from '../../limit/memory.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { type Caller, reauthenticateKey } from './authenticate-key.ts'
import { charge } from './charge.ts'

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
  pay: { mode: 'live' as const },
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

/** As a request does it that has just been admitted. */
async function visit(key: TestKey, operation: () => Promise<unknown>, given = deps()) {
  const caller = callerOf(key)
  const found = await reauthenticateKey(given, caller)
  const outcome = await charge(given, { key: found, caller }, operation).then(
    () => 'done',
    (error) => (error instanceof Problem ? error.code : String(error)),
  )
  return { outcome, left: caller.left }
}

describe('a deed', () => {
  test('costs one request, taken before it is done', async () => {
    const key = await keys().issue({ requests: 10 })
    let usedBefore: number | undefined
    const operation = async () => {
      usedBefore = await keys().used(key)
    }
    assert.deepEqual(await visit(key, operation), { outcome: 'done', left: [10, 9] })
    assert.equal(usedBefore, 1)
    assert.equal(await keys().used(key), 1)
  })

  test('that fails costs nothing, and the caller hears so', async () => {
    const key = await keys().issue({ requests: 10, perDay: 5 })
    const fault = () => Promise.reject(new Error('broken'))
    assert.deepEqual(await visit(key, fault), { outcome: 'Error: broken', left: [10, 9, 10] })
    const { used, usedToday } = (await shop.readKey(key.id, now)) ?? {}
    assert.deepEqual([used, usedToday], [0, 0])
  })

  test('that fails after midnight gives the request back to the day it was of', async () => {
    const key = await keys().issue({ requests: 10, perDay: 5 })
    await visit(key, async () => {
      now = new Date('2026-03-02T00:00:01Z')
      await shop.spendRequest(key.id, now)
      throw new Error('broken')
    })
    const { used, usedToday } = (await shop.readKey(key.id, now)) ?? {}
    assert.deepEqual([used, usedToday], [1, 1])
  })

  test('is not done when somebody else took the last request, and the true reason is told', async () => {
    for (const [figures, expected] of [
      [{ requests: 1 }, 'quota_exhausted'],
      [{ requests: 9, perDay: 1 }, 'daily_limit'],
    ] as const) {
      const key = await keys().issue(figures)
      const caller = callerOf(key)
      const found = await reauthenticateKey(deps(), caller)
      await shop.spendRequest(key.id, now)
      const operation = () => assert.fail('it was done')
      const refused = (error: unknown) => error instanceof Problem && error.code === expected
      await assert.rejects(charge(deps(), { key: found, caller }, operation), refused)
      assert.deepEqual(caller.left.at(-1), figures.requests - 1)
    }
  })

  test('is not done when the key was revoked meanwhile', async () => {
    const key = await keys().issue()
    const caller = callerOf(key)
    const found = await reauthenticateKey(deps(), caller)
    await shop.revokeKey(key.id)
    const operation = () => assert.fail('it was done')
    const refused = (error: unknown) => error instanceof Problem && error.code === 'invalid_key'
    await assert.rejects(charge(deps(), { key: found, caller }, operation), refused)
  })

  test('is done when the request that was missing comes back just then', async () => {
    const key = await keys().issue({ requests: 1 })
    await shop.spendRequest(key.id, now)
    const late = deps({
      spendRequest: async (...spend) => {
        const spent = await shop.spendRequest(...spend)
        if (!spent) await shop.returnRequest(key.id, { day: utcDay(now), period: 0 })
        return spent
      },
    })
    const caller = callerOf(key)
    const found = await shop.readKey(key.id, now)
    assert.ok(found)
    assert.equal(await charge(late, { key: found, caller }, async () => 'done'), 'done')
    assert.equal(await keys().used(key), 1)
  })
})

test('a request that can not be given back is told of together with what failed first', async () => {
  const key = await keys().issue()
  const found = await shop.readKey(key.id, now)
  assert.ok(found)
  const given = deps({ returnRequest: () => Promise.reject(new Error('no disk')) })
  const operation = () => Promise.reject(new Error('no mail'))
  await assert.rejects(charge(given, { key: found, caller: callerOf(key) }, operation), (error) => {
    assert.ok(error instanceof AggregateError)
    assert.deepEqual(
      error.errors.map(({ message }) => message),
      ['no mail', 'no disk'],
    )
    return true
  })
})
