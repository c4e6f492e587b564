import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  DAY,
  KEY,
  later,
  NOON,
  type OpenShopStore,
  pagesOf,
} from '../../../test/kit/store/shop-fixture.ts'
import { utcDay } from '../../keys/rules.ts'
import type { NewKey } from '../../keys/store.ts'
import type { ShopStore } from '../store.ts'

const ROLLED = { rolled: true }

/** Keys and their usage. */
export function keysContract(open: () => Promise<OpenShopStore>): void {
  let opened: OpenShopStore
  let store: ShopStore

  beforeEach(async () => {
    opened = await open()
    store = opened.store
  })
  afterEach(() => opened.close())

  const add = (more: Partial<NewKey> = {}) => store.addKey({ ...KEY, ...more })
  const rollAs = (hash: string, secretHash: string, now: Date) =>
    store.rollKey({
      keyId: 'k1',
      secretHash,
      oldUntil: new Date(now.getTime() + DAY),
      presented: { hash, now },
    })
  const chargeMany = async (times: number, now = NOON) => {
    const charged = await Promise.all(
      Array.from({ length: times }, () => store.chargeRequest('k1', now)),
    )
    return charged.filter((key) => key !== undefined).length
  }

  test('a key is found by the hash of its secret alone', async () => {
    await add()
    expect(await store.findKey('secret-hash', NOON)).toStrictEqual({
      id: 'k1',
      prefix: 'mf_live_abcd',
      plan: 'starter',
      label: 'mine',
      state: 'active',
      maxRequests: 10,
      maxPerDay: undefined,
      maxDomains: 1,
      used: 0,
      usedToday: 0,
      createdAt: NOON,
      expiresAt: undefined,
    })
    expect(await store.findKey('k1', NOON)).toBeUndefined()
  })

  test('two keys never share a secret or an id', async () => {
    await add()
    await expect(add({ id: 'k2' })).rejects.toThrow()
    await expect(add({ secretHash: 'another' })).rejects.toThrow()
    expect(await store.findKey('another', NOON)).toBeUndefined()
  })

  test('exactly as many concurrent requests pass as the plan allows', async () => {
    await add()
    expect(await chargeMany(500)).toBe(10)
    expect((await store.findKey('secret-hash', NOON))?.used).toBe(10)
  })

  test('the daily limit ends with the UTC day', async () => {
    await add({ maxRequests: 100, maxPerDay: 3 })
    const midnight = new Date('2026-03-02T00:00:00Z')
    expect(await chargeMany(5, new Date(midnight.getTime() - 1))).toBe(3)
    expect(await chargeMany(5, midnight)).toBe(3)
    expect((await store.findKey('secret-hash', midnight))?.usedToday).toBe(3)
    expect((await store.findKey('secret-hash', later(2 * DAY)))?.usedToday).toBe(0)
  })

  test('a clock that steps back does not reset the count of a day', async () => {
    await add({ maxRequests: 100, maxPerDay: 3 })
    expect(await chargeMany(3, later(DAY))).toBe(3)
    expect(await chargeMany(3, NOON)).toBe(0)
  })

  test('a plan expires at the exact millisecond', async () => {
    await add({ expiresAt: later(1000) })
    expect.assert(await store.chargeRequest('k1', later(999)))
    expect(await store.chargeRequest('k1', later(1000))).toBeUndefined()
  })

  test('a revoked key accepts no more requests', async () => {
    await add()
    expect(await store.revokeKey('k1')).toBe(true)
    expect(await store.chargeRequest('k1', NOON)).toBeUndefined()
    expect((await store.findKey('secret-hash', NOON))?.state).toBe('revoked')
    expect(await store.revokeKey('nobody')).toBe(false)
  })

  test('concurrent requests each get their own count', async () => {
    await add({ maxPerDay: 6 })
    const charged = await Promise.all(
      Array.from({ length: 8 }, () => store.chargeRequest('k1', NOON)),
    )
    const used = charged.map((key) => key?.used).sort()
    expect(used).toStrictEqual([1, 2, 3, 4, 5, 6, undefined, undefined])
    expect(await store.readUsage('k1', 0)).toStrictEqual([{ day: 20_513, count: 6 }])
  })

  test('concurrent requests around midnight or expiry are each decided by their own time', async () => {
    const midnight = new Date('2026-03-02T00:00:00Z')
    await add({ maxPerDay: 2, expiresAt: new Date(midnight.getTime() + 2) })
    const times = [-2, -1, 0, 1, 2, 3].map((ms) => new Date(midnight.getTime() + ms))
    const charged = await Promise.all(times.map((now) => store.chargeRequest('k1', now)))
    expect(charged.map((key) => key !== undefined)).toStrictEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ])
    expect((await store.readUsage('k1', 0)).map(({ count }) => count)).toStrictEqual([2, 2])
  })

  test('a request is refunded to the day it was charged to, even if the clock has stepped back', async () => {
    await add({ maxPerDay: 5 })
    await chargeMany(1, later(DAY))
    const charged = await store.chargeRequest('k1', NOON)
    expect.assert(charged)
    expect(charged.day).toBe(utcDay(later(DAY)))
    await store.refundRequest('k1', charged)
    expect((await store.readKey('k1', later(DAY)))?.usedToday).toBe(1)
    expect((await store.readUsage('k1', 0)).map(({ count }) => count)).toStrictEqual([1])
  })

  test('a rolled key has two secrets for a while, and one quota', async () => {
    await add()
    const oldUntil = later(DAY)
    expect(await store.rollKey({ keyId: 'k1', secretHash: 'new', oldUntil })).toStrictEqual(ROLLED)
    expect.assert(await store.findKey('secret-hash', later(DAY - 1)))
    expect(await store.findKey('secret-hash', oldUntil)).toBeUndefined()
    expect((await store.findKey('new', later(9 * DAY)))?.id).toBe('k1')
    await store.revokeKey('k1')
    const again = { keyId: 'k1', secretHash: 'third', oldUntil }
    expect(await store.rollKey(again)).toStrictEqual({ rolled: false })
    expect(await store.rollKey({ ...again, keyId: 'nobody' })).toStrictEqual({ rolled: false })
    expect(await store.findKey('third', NOON)).toBeUndefined()
  })

  test('a key rolled again has no third secret', async () => {
    await add()
    await store.rollKey({ keyId: 'k1', secretHash: 'second', oldUntil: later(DAY) })
    await store.rollKey({ keyId: 'k1', secretHash: 'third', oldUntil: later(2 * DAY) })
    const live = async (hash: string) => (await store.findKey(hash, NOON)) !== undefined
    expect([await live('secret-hash'), await live('second'), await live('third')]).toStrictEqual([
      false,
      true,
      true,
    ])
  })

  test('a holder can roll only with the current secret, and of two concurrent rolls one succeeds', async () => {
    await add()
    await add({ id: 'k2', secretHash: 'of-k2' })
    expect(await rollAs('unknown', 'x', NOON)).toStrictEqual({ rolled: false })
    expect(await rollAs('of-k2', 'x', NOON)).toStrictEqual({ rolled: false })
    const both = await Promise.all(
      ['one', 'two'].map((secretHash) => rollAs('secret-hash', secretHash, NOON)),
    )
    expect(both.map(({ rolled }) => rolled).toSorted()).toStrictEqual([false, true])
    expect((await store.findKey('secret-hash', later(DAY - 1)))?.id).toBe('k1')
    const refused = { rolled: false, oldSecretUntil: later(DAY) }
    expect(await rollAs('secret-hash', 'x', NOON)).toStrictEqual(refused)
    expect(await store.findKey('x', NOON)).toBeUndefined()
  })

  test('a holder cannot roll again while the old secret is valid; the operator can', async () => {
    await add()
    expect(await rollAs('secret-hash', 'second', NOON)).toStrictEqual(ROLLED)
    const refused = { rolled: false, oldSecretUntil: later(DAY) }
    expect(await rollAs('second', 'third', later(DAY - 1))).toStrictEqual(refused)
    expect((await store.findKey('secret-hash', later(DAY - 1)))?.id).toBe('k1')
    expect(await store.findKey('third', NOON)).toBeUndefined()
    expect(await rollAs('second', 'third', later(DAY))).toStrictEqual(ROLLED)
    const byOperator = { keyId: 'k1', secretHash: 'fourth', oldUntil: later(2 * DAY) }
    expect(await store.rollKey(byOperator)).toStrictEqual(ROLLED)
    expect(await store.findKey('second', later(DAY))).toBeUndefined()
  })

  test('keys are listed newest first, and can be relabelled', async () => {
    await add()
    await add({ id: 'k2', secretHash: 'second', createdAt: later(1) })
    expect(await store.labelKey('k1', 'yours')).toBe(true)
    expect(await store.labelKey('nobody', 'x')).toBe(false)
    expect(
      (await store.listKeys({ now: NOON, limit: 100 })).map(({ id, label }) => [id, label]),
    ).toStrictEqual([
      ['k2', 'mine'],
      ['k1', 'yours'],
    ])
    expect((await store.readKey('k1', NOON))?.label).toBe('yours')
    expect(await store.readKey('nobody', NOON)).toBeUndefined()
  })

  test('keys are listed in pages, also those created at the same time', async () => {
    const times = [0, 1, 1, 1, 2]
    for (const [at, ms] of times.entries()) {
      await add({ id: `k${at}`, secretHash: `hash-${at}`, createdAt: later(ms) })
    }
    expect(await pagesOf((page) => store.listKeys({ now: NOON, ...page }))).toStrictEqual([
      ['k4', 'k3'],
      ['k2', 'k1'],
      ['k0'],
    ])
  })

  test('keys are found by prefix and by text in their label, also in pages', async () => {
    for (const [id, label] of Object.entries({ a: 'EU office', b: '100%', c: 'Büro EU', d: '' })) {
      await add({ id, secretHash: id, label, prefix: `mf_live_000${id}` })
    }
    const find = async (text: string) =>
      (await store.listKeys({ now: NOON, limit: 9, text })).map(({ id }) => id)
    expect(await find('eu')).toStrictEqual(['c', 'a'])
    expect(await find('bürO')).toStrictEqual(['c'])
    // Only ASCII letters, on either engine.
    expect(await find('BÜRO')).toStrictEqual([])
    expect(await find('%')).toStrictEqual(['b'])
    for (const none of ['_', '\0', 'mf_live_000']) expect(await find(none)).toStrictEqual([])
    expect(await find('mf_live_000d')).toStrictEqual(['d'])
    expect(await find('')).toStrictEqual(['d', 'c', 'b', 'a'])
    const pages = await pagesOf((page) => store.listKeys({ now: NOON, text: 'EU', ...page }), 1)
    expect(pages).toStrictEqual([['c'], ['a'], []])
  })

  test('a refunded request can be used again on the same day', async () => {
    await add({ maxPerDay: 2 })
    await chargeMany(2)
    await store.refundRequest('k1', { day: utcDay(NOON), period: 0 })
    const key = await store.findKey('secret-hash', NOON)
    expect([key?.used, key?.usedToday]).toStrictEqual([1, 1])
    expect(await chargeMany(5)).toBe(1)
    await chargeMany(1, later(DAY))
    await store.refundRequest('k1', { day: utcDay(NOON), period: 0 })
    const next = await store.findKey('secret-hash', later(DAY))
    expect([next?.used, next?.usedToday]).toStrictEqual([2, 1])
  })
}
