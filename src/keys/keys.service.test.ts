import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqliteTestShop } from '../../test/kit/store/stores.ts'
import { secretHash } from '../base/id.ts'
import { PLANS, type Plan } from '../shared/plan.ts'
import { findKeys, issueKey, keyUsage, OLD_SECRET_MS, rollKey } from './keys.ts'
import { isWellFormedKey, utcDay } from './rules.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const DAY = 86_400_000
let shop: Awaited<ReturnType<typeof openSqliteTestShop>>
let time = NOON
const deps = () => ({ shop: shop.store, now: () => time, randomBytes })
const found = (secret: string) => shop.store.findKey(secretHash(secret), time)
const [starter, business] = PLANS as [Plan, Plan]
const issue = (plan = starter) => issueKey(deps(), { plan, label: 'mine', mode: 'live' })

beforeEach(async () => {
  shop = await openSqliteTestShop()
  time = NOON
})
afterEach(() => shop.close())

describe('an issued key', () => {
  for (const [plan, mode, expected] of [
    [starter, 'live', { maxRequests: 1_000, maxPerDay: undefined, expiresAt: undefined }],
    [
      business,
      'test',
      { maxRequests: 100_000, maxPerDay: 1_000, expiresAt: new Date('2027-03-01T12:00:00Z') },
    ],
  ] as const) {
    test(`has the limits of ${plan.name}, and is found only by its whole secret`, async () => {
      const { key, secret } = await issueKey(deps(), { plan, label: 'mine', mode })
      expect(key).toMatchObject({ ...expected, plan: plan.id, label: 'mine', state: 'active' })
      expect(isWellFormedKey(secret)).toBe(true)
      expect(secret.startsWith(`mf_${mode}_`)).toBe(true)
      expect(secret.startsWith(key.prefix)).toBe(true)
      expect(await found(secret)).toEqual(key)
      expect(await found(key.prefix)).toBeUndefined()
    })
  }

  test('has an id and a secret of its own', async () => {
    const [one, two] = [await issue(), await issue()]
    expect(one.secret.slice(12)).not.toBe(two.secret.slice(12))
    expect(one.key.id).not.toBe(two.key.id)
  })

  test('draws id, prefix and secret separately from the given randomness', async () => {
    let draws = 0
    const counted = (count: number) => new Uint8Array(count).fill(++draws)
    const { key, secret } = await issueKey(
      { ...deps(), randomBytes: counted },
      { plan: starter, label: '', mode: 'live' },
    )
    expect(draws).toBe(3)
    expect(secret).not.toContain(key.id.slice(-8))
  })
})

describe('a rolled key', () => {
  test('has two secrets for a day, then only the new one, and one quota', async () => {
    const { key, secret: oldSecret } = await issue()
    const rolled = await rollKey(deps(), key)
    expect(rolled?.oldUntil).toEqual(new Date(NOON.getTime() + OLD_SECRET_MS))
    expect(rolled?.secret.startsWith(key.prefix)).toBe(true)
    await shop.store.chargeRequest(key.id, time)
    for (const secret of [oldSecret, rolled?.secret ?? '']) {
      expect(await found(secret)).toMatchObject({ id: key.id, used: 1 })
    }
    time = new Date(NOON.getTime() + DAY - 1)
    expect(await found(oldSecret)).toMatchObject({ id: key.id })
    time = new Date(NOON.getTime() + DAY)
    expect(await found(oldSecret)).toBeUndefined()
    expect(await found(rolled?.secret ?? '')).toMatchObject({ id: key.id, used: 1 })
  })

  test('gets no new secret if it is revoked or unknown', async () => {
    const { key } = await issue()
    await shop.store.revokeKey(key.id)
    expect(await rollKey(deps(), key)).toBeUndefined()
    expect(await rollKey(deps(), { id: 'key_x', prefix: 'mf_live_abcd' })).toBeUndefined()
  })
})

describe('a key is found', () => {
  test('by its id, its prefix and its whole secret', async () => {
    const { key, secret } = await issue()
    await issue()
    for (const name of [key.id, key.prefix, secret]) {
      expect(await findKeys(deps(), name)).toEqual([key])
    }
  })

  test('by nothing that is only similar', async () => {
    const { key, secret } = await issue()
    for (const name of ['', 'key_', key.prefix.slice(0, -1), `${secret}x`, secret.slice(0, -1)]) {
      expect(await findKeys(deps(), name)).toEqual([])
    }
  })

  test('together with others of the same prefix', async () => {
    const samePrefix = { ...deps(), randomBytes: samePrefixes() }
    const [one, two] = [
      await issueKey(samePrefix, { plan: starter, label: '', mode: 'live' }),
      await issueKey(samePrefix, { plan: starter, label: '', mode: 'live' }),
    ]
    expect(one.key.prefix).toBe(two.key.prefix)
    const ids = (await findKeys(deps(), one.key.prefix)).map(({ id }) => id)
    expect(ids.sort()).toEqual([one.key.id, two.key.id].sort())
  })

  /** The first draw of each key, its prefix, is always the same. */
  function samePrefixes() {
    let draws = 0
    return (count: number) => (draws++ % 3 === 0 ? new Uint8Array(count) : randomBytes(count))
  }
})

describe('usage', () => {
  test('covers thirty days up to today, with 0 for days without requests', async () => {
    const { key } = await issue()
    const today = utcDay(NOON)
    for (const [daysAgo, count] of [
      [30, 5],
      [29, 1],
      [3, 2],
      [0, 4],
    ] as const) {
      const then = new Date(NOON.getTime() - daysAgo * DAY)
      for (let charged = 0; charged < count; charged += 1) {
        // Oldest first: if the clock steps back, requests count on the current day.
        await shop.store.chargeRequest(key.id, then)
      }
    }
    const days = await keyUsage(deps(), key.id)
    expect(days.map(({ day }) => day)).toEqual(
      Array.from({ length: 30 }, (_, at) => today - 29 + at),
    )
    expect(days.filter(({ count }) => count > 0)).toEqual([
      { day: today - 29, count: 1 },
      { day: today - 3, count: 2 },
      { day: today, count: 4 },
    ])
  })

  test('is 0 on all thirty days for an unknown key', async () => {
    const days = await keyUsage(deps(), 'key_x')
    expect(days.map(({ count }) => count)).toEqual(Array(30).fill(0))
  })
})
