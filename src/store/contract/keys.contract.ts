import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'vitest'
import { utcDay } from '../../keys/rules.ts'
import type { NewKey } from '../../keys/store.ts'
import type { ShopStore } from '../store.ts'
import { DAY, KEY, later, NOON, type OpenShopStore, pagesOf } from './shop-fixture.ts'

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
  const spendMany = async (times: number, now = NOON) => {
    const spent = await Promise.all(
      Array.from({ length: times }, () => store.spendRequest('k1', now)),
    )
    return spent.filter((key) => key !== undefined).length
  }

  test('a key is found by the hash of its secret alone', async () => {
    await add()
    assert.deepEqual(await store.findKey('secret-hash', NOON), {
      id: 'k1',
      prefix: 'mf_live_abcd',
      plan: 'starter',
      label: 'mine',
      state: 'active',
      maxRequests: 10,
      maxPerDay: undefined,
      used: 0,
      usedToday: 0,
      createdAt: NOON,
      expiresAt: undefined,
    })
    assert.equal(await store.findKey('k1', NOON), undefined)
  })

  test('two keys never share a secret or an id', async () => {
    await add()
    await assert.rejects(add({ id: 'k2' }))
    await assert.rejects(add({ secretHash: 'another' }))
    assert.equal(await store.findKey('another', NOON), undefined)
  })

  test('exactly as many concurrent requests pass as the plan allows', async () => {
    await add()
    assert.equal(await spendMany(500), 10)
    assert.equal((await store.findKey('secret-hash', NOON))?.used, 10)
  })

  test('the daily limit ends with the UTC day', async () => {
    await add({ maxRequests: 100, maxPerDay: 3 })
    const midnight = new Date('2026-03-02T00:00:00Z')
    assert.equal(await spendMany(5, new Date(midnight.getTime() - 1)), 3)
    assert.equal(await spendMany(5, midnight), 3)
    assert.equal((await store.findKey('secret-hash', midnight))?.usedToday, 3)
    assert.equal((await store.findKey('secret-hash', later(2 * DAY)))?.usedToday, 0)
  })

  test('a clock that steps back does not reset the count of a day', async () => {
    await add({ maxRequests: 100, maxPerDay: 3 })
    assert.equal(await spendMany(3, later(DAY)), 3)
    assert.equal(await spendMany(3, NOON), 0)
  })

  test('a plan expires at the exact millisecond', async () => {
    await add({ expiresAt: later(1000) })
    assert.ok(await store.spendRequest('k1', later(999)))
    assert.equal(await store.spendRequest('k1', later(1000)), undefined)
  })

  test('a revoked key accepts no more requests', async () => {
    await add()
    assert.equal(await store.revokeKey('k1'), true)
    assert.equal(await store.spendRequest('k1', NOON), undefined)
    assert.equal((await store.findKey('secret-hash', NOON))?.state, 'revoked')
    assert.equal(await store.revokeKey('nobody'), false)
  })

  test('concurrent requests each get their own count', async () => {
    await add({ maxPerDay: 6 })
    const spent = await Promise.all(Array.from({ length: 8 }, () => store.spendRequest('k1', NOON)))
    const used = spent.map((key) => key?.used).sort()
    assert.deepEqual(used, [1, 2, 3, 4, 5, 6, undefined, undefined])
    assert.deepEqual(await store.readUsage('k1', 0), [{ day: 20_513, count: 6 }])
  })

  test('concurrent requests around midnight or expiry are each decided by their own time', async () => {
    const midnight = new Date('2026-03-02T00:00:00Z')
    await add({ maxPerDay: 2, expiresAt: new Date(midnight.getTime() + 2) })
    const times = [-2, -1, 0, 1, 2, 3].map((ms) => new Date(midnight.getTime() + ms))
    const spent = await Promise.all(times.map((now) => store.spendRequest('k1', now)))
    assert.deepEqual(
      spent.map((key) => key !== undefined),
      [true, true, true, true, false, false],
    )
    assert.deepEqual(
      (await store.readUsage('k1', 0)).map(({ count }) => count),
      [2, 2],
    )
  })

  test('a request is refunded to the day it was charged to, even if the clock has stepped back', async () => {
    await add({ maxPerDay: 5 })
    await spendMany(1, later(DAY))
    const spent = await store.spendRequest('k1', NOON)
    assert.equal(spent?.day, utcDay(later(DAY)))
    await store.returnRequest('k1', spent)
    assert.equal((await store.readKey('k1', later(DAY)))?.usedToday, 1)
    assert.deepEqual(
      (await store.readUsage('k1', 0)).map(({ count }) => count),
      [1],
    )
  })

  test('a rolled key has two secrets for a while, and one quota', async () => {
    await add()
    const oldUntil = later(DAY)
    assert.deepEqual(await store.rollKey({ keyId: 'k1', secretHash: 'new', oldUntil }), ROLLED)
    assert.ok(await store.findKey('secret-hash', later(DAY - 1)))
    assert.equal(await store.findKey('secret-hash', oldUntil), undefined)
    assert.equal((await store.findKey('new', later(9 * DAY)))?.id, 'k1')
    await store.revokeKey('k1')
    const again = { keyId: 'k1', secretHash: 'third', oldUntil }
    assert.deepEqual(await store.rollKey(again), { rolled: false })
    assert.deepEqual(await store.rollKey({ ...again, keyId: 'nobody' }), { rolled: false })
    assert.equal(await store.findKey('third', NOON), undefined)
  })

  test('a key rolled again has no third secret', async () => {
    await add()
    await store.rollKey({ keyId: 'k1', secretHash: 'second', oldUntil: later(DAY) })
    await store.rollKey({ keyId: 'k1', secretHash: 'third', oldUntil: later(2 * DAY) })
    const live = async (hash: string) => (await store.findKey(hash, NOON)) !== undefined
    assert.deepEqual(
      [await live('secret-hash'), await live('second'), await live('third')],
      [false, true, true],
    )
  })

  test('a holder can roll only with the current secret, and of two concurrent rolls one succeeds', async () => {
    await add()
    await add({ id: 'k2', secretHash: 'of-k2' })
    assert.deepEqual(await rollAs('unknown', 'x', NOON), { rolled: false })
    assert.deepEqual(await rollAs('of-k2', 'x', NOON), { rolled: false })
    const both = await Promise.all(
      ['one', 'two'].map((secretHash) => rollAs('secret-hash', secretHash, NOON)),
    )
    assert.deepEqual(both.map(({ rolled }) => rolled).toSorted(), [false, true])
    assert.equal((await store.findKey('secret-hash', later(DAY - 1)))?.id, 'k1')
    const refused = { rolled: false, oldSecretUntil: later(DAY) }
    assert.deepEqual(await rollAs('secret-hash', 'x', NOON), refused)
    assert.equal(await store.findKey('x', NOON), undefined)
  })

  test('a holder cannot roll again while the old secret is valid; the operator can', async () => {
    await add()
    assert.deepEqual(await rollAs('secret-hash', 'second', NOON), ROLLED)
    const refused = { rolled: false, oldSecretUntil: later(DAY) }
    assert.deepEqual(await rollAs('second', 'third', later(DAY - 1)), refused)
    assert.equal((await store.findKey('secret-hash', later(DAY - 1)))?.id, 'k1')
    assert.equal(await store.findKey('third', NOON), undefined)
    assert.deepEqual(await rollAs('second', 'third', later(DAY)), ROLLED)
    const byOperator = { keyId: 'k1', secretHash: 'fourth', oldUntil: later(2 * DAY) }
    assert.deepEqual(await store.rollKey(byOperator), ROLLED)
    assert.equal(await store.findKey('second', later(DAY)), undefined)
  })

  test('keys are listed newest first, and can be relabelled', async () => {
    await add()
    await add({ id: 'k2', secretHash: 'second', createdAt: later(1) })
    assert.equal(await store.labelKey('k1', 'yours'), true)
    assert.equal(await store.labelKey('nobody', 'x'), false)
    assert.deepEqual(
      (await store.listKeys({ now: NOON, limit: 100 })).map(({ id, label }) => [id, label]),
      [
        ['k2', 'mine'],
        ['k1', 'yours'],
      ],
    )
    assert.equal((await store.readKey('k1', NOON))?.label, 'yours')
    assert.equal(await store.readKey('nobody', NOON), undefined)
  })

  test('keys are listed in pages, also those created at the same time', async () => {
    const times = [0, 1, 1, 1, 2]
    for (const [at, ms] of times.entries()) {
      await add({ id: `k${at}`, secretHash: `hash-${at}`, createdAt: later(ms) })
    }
    assert.deepEqual(await pagesOf((page) => store.listKeys({ now: NOON, ...page })), [
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
    assert.deepEqual(await find('eu'), ['c', 'a'])
    assert.deepEqual(await find('Büro'), ['c'])
    assert.deepEqual(await find('%'), ['b'])
    assert.deepEqual([await find('_'), await find('mf_live_000')], [[], []])
    assert.deepEqual(await find('mf_live_000d'), ['d'])
    assert.deepEqual(await find(''), ['d', 'c', 'b', 'a'])
    const pages = await pagesOf((page) => store.listKeys({ now: NOON, text: 'EU', ...page }), 1)
    assert.deepEqual(pages, [['c'], ['a'], []])
  })

  test('a refunded request can be used again on the same day', async () => {
    await add({ maxPerDay: 2 })
    await spendMany(2)
    await store.returnRequest('k1', { day: utcDay(NOON), period: 0 })
    const key = await store.findKey('secret-hash', NOON)
    assert.deepEqual([key?.used, key?.usedToday], [1, 1])
    assert.equal(await spendMany(5), 1)
    await spendMany(1, later(DAY))
    await store.returnRequest('k1', { day: utcDay(NOON), period: 0 })
    const next = await store.findKey('secret-hash', later(DAY))
    assert.deepEqual([next?.used, next?.usedToday], [2, 1])
  })
}
