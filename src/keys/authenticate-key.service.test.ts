import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { keyRing } from '../../test/kit/shop/keys.ts'
import { openSqliteTestShop } from '../../test/kit/store/stores.ts'
import { Problem } from '../base/problem.ts'
import { makeRates, openMemoryLimit } from '../limit/memory.ts'
import { PLANS, type Plan } from '../shared/plan.ts'
import type { ShopStore } from '../store/store.ts'
import {
  authenticateKey,
  authenticateSessionKey,
  type Caller,
  identifyKey,
  reauthenticateKey,
} from './authenticate-key.ts'
import { issueKey } from './keys.ts'
import { type KeyMode, makeKeySecret } from './rules.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const [STARTER] = PLANS as readonly [Plan]
const UNKNOWN = makeKeySecret('mf_live_none', new Uint8Array(20))

let shop: ShopStore
let close: () => Promise<void>
let now: Date
let mode: KeyMode
let lookups: number
let limit: ReturnType<typeof openMemoryLimit>
beforeAll(async () => {
  const scratch = await openSqliteTestShop()
  shop = scratch.store
  close = scratch.close
})
afterAll(() => close())
beforeEach(() => {
  now = NOON
  mode = 'live'
  lookups = 0
  limit = openMemoryLimit(makeRates())
})

const keys = () => keyRing(shop, () => now)
const deps = () => ({
  shop: {
    ...shop,
    findKey: (...hashAndTime: Parameters<ShopStore['findKey']>) => {
      lookups += 1
      return shop.findKey(...hashAndTime)
    },
  },
  testKeys: mode === 'test',
  limit,
  now: () => now,
})
const caller = (keyText: string | undefined, more: Partial<Caller> = {}): Caller => ({
  keyText,
  client: '192.0.2.1',
  shopUrl: 'https://mayfly.test/pricing',
  seen: () => {},
  ...more,
})

async function refused(operation: Promise<unknown>): Promise<Problem> {
  const outcome = await operation.then(
    () => undefined,
    (error) => error,
  )
  expect(outcome, 'nothing was refused').toBeInstanceOf(Problem)
  return outcome
}
const codeOf = async (operation: Promise<unknown>) => (await refused(operation)).code

describe('a key', () => {
  test('of test mode is invalid in live mode', async () => {
    const { secret } = await issueKey(
      { shop, now: () => now, randomBytes },
      { plan: STARTER, label: '', mode: 'test' },
    )
    expect(await codeOf(authenticateKey(deps(), caller(secret)))).toBe('invalid_key')
    expect(lookups).toBe(0)
    mode = 'test'
    expect(await authenticateKey(deps(), caller(secret))).toBeTruthy()
  })

  test('is accepted and identified by its secret', async () => {
    const { id, secret } = await keys().issue()
    expect((await authenticateKey(deps(), caller(secret))).id).toBe(id)
  })

  for (const [name, text, expectedLookups] of [
    ['that is missing', undefined, 0],
    ['that is empty', '', 0],
    ['with a typo', UNKNOWN.replace('none', 'nine'), 0],
    ['in another case', UNKNOWN.toUpperCase(), 0],
    ['with a space', ` ${UNKNOWN}`, 0],
    ['sent twice', `${UNKNOWN}, ${UNKNOWN}`, 0],
    ['that is unknown', UNKNOWN, 1],
  ] as const) {
    test(`${name} is refused after ${expectedLookups} lookups in the store`, async () => {
      const problem = await refused(authenticateKey(deps(), caller(text)))
      expect(problem.code).toBe('invalid_key')
      expect(problem.message).toBe('The API key is invalid or missing.')
      expect(lookups).toBe(expectedLookups)
    })
  }

  test('that is revoked is refused at once, with the same message', async () => {
    const { id, secret } = await keys().issue()
    await shop.revokeKey(id)
    const problem = await refused(authenticateKey(deps(), caller(secret)))
    expect(problem.message).toBe('The API key is invalid or missing.')
    expect(await codeOf(identifyKey(deps(), caller(secret)))).toBe('invalid_key')
    expect(await codeOf(reauthenticateKey(deps(), caller(secret)))).toBe('invalid_key')
    expect(await codeOf(authenticateSessionKey(deps(), caller(secret)))).toBe('invalid_key')
  })
})

describe('invalid keys', () => {
  const tryUnknown = async (times: number, client?: string) => {
    const codes = []
    for (let at = 0; at < times; at += 1) {
      codes.push(await codeOf(authenticateKey(deps(), caller(UNKNOWN, { client }))))
    }
    return codes
  }

  test('the twenty-first within a minute blocks its client, even with a valid key', async () => {
    const { secret } = await keys().issue()
    expect(new Set(await tryUnknown(20, '192.0.2.1'))).toStrictEqual(new Set(['invalid_key']))
    expect(await authenticateKey(deps(), caller(secret)), 'twenty are not too many').toBeTruthy()
    expect(await tryUnknown(1, '192.0.2.1')).toStrictEqual(['rate_limited'])
    for (const text of [secret, UNKNOWN, undefined]) {
      const problem = await refused(authenticateKey(deps(), caller(text)))
      expect([problem.code, problem.retryAfter]).toStrictEqual(['rate_limited', 3])
      expect(await codeOf(identifyKey(deps(), caller(text)))).toBe('rate_limited')
      expect(await codeOf(authenticateSessionKey(deps(), caller(text)))).toBe('rate_limited')
    }
    expect(
      await authenticateKey(deps(), caller(secret, { client: '192.0.2.2' })),
      'another client',
    ).toBeTruthy()
    now = new Date(NOON.getTime() + 3_000)
    expect(await authenticateKey(deps(), caller(secret)), 'after the time to wait').toBeTruthy()
  })

  test('cause no lookup in the store for a blocked client', async () => {
    await tryUnknown(21, '192.0.2.1')
    lookups = 0
    await tryUnknown(5, '192.0.2.1')
    expect(lookups).toBe(0)
  })

  test('are not counted for a loopback client', async () => {
    const codes = await tryUnknown(50)
    expect(new Set(codes)).toStrictEqual(new Set(['invalid_key']))
  })

  test('do not include missing or valid keys', async () => {
    const { secret } = await keys().issue()
    for (let at = 0; at < 50; at += 1) {
      expect(await codeOf(authenticateKey(deps(), caller(undefined)))).toBe('invalid_key')
      expect(await codeOf(authenticateKey(deps(), caller('')))).toBe('invalid_key')
      expect(await authenticateKey(deps(), caller(secret))).toBeTruthy()
    }
    expect(await tryUnknown(1, '192.0.2.1')).toStrictEqual(['invalid_key'])
  })
})

describe('quota and expiry', () => {
  test('an exhausted key is refused with the shop URL', async () => {
    const { secret } = await keys().issue({ requests: 0 })
    const { code, message, retryAfter } = await refused(authenticateKey(deps(), caller(secret)))
    expect([code, retryAfter]).toStrictEqual(['quota_exhausted', undefined])
    expect(message).toMatch(/https:\/\/mayfly\.test\/pricing$/)
  })

  test('a key expires at the exact millisecond', async () => {
    const { secret } = await keys().issue({ months: 12 })
    now = new Date('2027-03-01T11:59:59.999Z')
    expect(await authenticateKey(deps(), caller(secret))).toBeTruthy()
    now = new Date('2027-03-01T12:00:00Z')
    const { code, message } = await refused(authenticateKey(deps(), caller(secret)))
    expect(code).toBe('plan_expired')
    expect(message).toMatch(/expired.*https:\/\/mayfly\.test\/pricing$/)
  })

  test('a suspended key is refused with its reason and the shop URL', async () => {
    const { secret } = await keys().issueRefunded()
    const { code, message } = await refused(authenticateKey(deps(), caller(secret)))
    expect(code).toBe('plan_expired')
    expect(message).toMatch(/refunded or is disputed.*https:\/\/mayfly\.test\/pricing$/)
  })

  test('a key at its daily limit is refused until 00:00 UTC', async () => {
    const { id, secret } = await keys().issue({ perDay: 1 })
    await shop.chargeRequest(id, now)
    const { code, retryAfter } = await refused(authenticateKey(deps(), caller(secret)))
    expect([code, retryAfter]).toStrictEqual(['daily_limit', 12 * 3_600])
    now = new Date('2026-03-01T23:59:59.900Z')
    expect((await refused(authenticateKey(deps(), caller(secret)))).retryAfter).toBe(1)
    now = new Date('2026-03-02T00:00:00Z')
    expect(await authenticateKey(deps(), caller(secret))).toBeTruthy()
  })

  test('the caller gets the state of a key before it is refused', async () => {
    const { id, secret } = await keys().issue({ requests: 0 })
    const seen: string[] = []
    const observer = caller(secret, { seen: (key) => seen.push(key.id) })
    await refused(authenticateKey(deps(), observer))
    expect(seen.splice(0)).toContain(id)
    await refused(reauthenticateKey(deps(), observer))
    expect(seen).toContain(id)
  })

  test('an exhausted key can still be identified', async () => {
    const { secret } = await keys().issue({ requests: 0 })
    expect(await identifyKey(deps(), caller(secret))).toBeTruthy()
  })
})

describe('a key for a session', () => {
  test('may be at its daily limit', async () => {
    const { id, secret } = await keys().issue({ perDay: 1 })
    await shop.chargeRequest(id, now)
    expect((await authenticateSessionKey(deps(), caller(secret))).id).toBe(id)
  })

  test('may not be exhausted or suspended', async () => {
    const exhausted = await keys().issue({ requests: 0 })
    expect(await codeOf(authenticateSessionKey(deps(), caller(exhausted.secret)))).toBe(
      'quota_exhausted',
    )
    const suspended = await keys().issueRefunded()
    expect(await codeOf(authenticateSessionKey(deps(), caller(suspended.secret)))).toBe(
      'plan_expired',
    )
  })
})
