import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest'
import { keyRing } from '../../../test/support/keys.ts'
import { openSqliteTestShop } from '../../../test/support/stores.ts'
import { type KeyMode, makeKeySecret } from '../../core/key.ts'
import { PLANS, type Plan } from '../../core/plan.ts'
import { Problem } from '../../core/problem.ts'
import { makeRates, openMemoryLimit } from '../../limit/memory.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import {
  authenticateKey,
  authenticateSessionKey,
  type Caller,
  identifyKey,
  reauthenticateKey,
} from './authenticate-key.ts'
import { issueKey } from './keys.ts'

const NOON = new Date('2026-03-01T12:00:00Z')
const [STARTER] = PLANS as readonly [Plan]
const NOBODYS = makeKeySecret('mf_live_none', new Uint8Array(20))

let shop: ShopStore
let close: () => Promise<void>
let now: Date
let mode: KeyMode
let asked: number
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
  asked = 0
  limit = openMemoryLimit(makeRates())
})

const keys = () => keyRing(shop, () => now)
const deps = () => ({
  shop: {
    findKey: (...hashAndTime: Parameters<ShopStore['findKey']>) => {
      asked += 1
      return shop.findKey(...hashAndTime)
    },
  },
  pay: { mode },
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
  assert.ok(outcome instanceof Problem, 'nothing was refused')
  return outcome
}
const codeOf = async (operation: Promise<unknown>) => (await refused(operation)).code

describe('a key', () => {
  test('of a shop in which no money moves opens nothing where it does', async () => {
    const { secret } = await issueKey(
      { store: shop, now: () => now, randomBytes },
      { plan: STARTER, label: '', mode: 'test' },
    )
    assert.equal(await codeOf(authenticateKey(deps(), caller(secret))), 'invalid_key')
    assert.equal(asked, 0)
    mode = 'test'
    assert.ok(await authenticateKey(deps(), caller(secret)))
  })

  test('opens what it was issued for', async () => {
    const { id, secret } = await keys().issue()
    assert.equal((await authenticateKey(deps(), caller(secret))).id, id)
  })

  for (const [name, text, asks] of [
    ['that is missing', undefined, 0],
    ['that is empty', '', 0],
    ['with a typo', NOBODYS.replace('none', 'nine'), 0],
    ['in another case', NOBODYS.toUpperCase(), 0],
    ['with a space', ` ${NOBODYS}`, 0],
    ['given twice', `${NOBODYS}, ${NOBODYS}`, 0],
    ['that nobody has', NOBODYS, 1],
  ] as const) {
    test(`${name} is refused after ${asks} questions to the store`, async () => {
      const problem = await refused(authenticateKey(deps(), caller(text)))
      assert.equal(problem.code, 'invalid_key')
      assert.equal(problem.message, 'The API key is invalid or missing.')
      assert.equal(asked, asks)
    })
  }

  test('that is revoked is refused in the same words, at once', async () => {
    const { id, secret } = await keys().issue()
    await shop.revokeKey(id)
    const problem = await refused(authenticateKey(deps(), caller(secret)))
    assert.equal(problem.message, 'The API key is invalid or missing.')
    assert.equal(await codeOf(identifyKey(deps(), caller(secret))), 'invalid_key')
    assert.equal(await codeOf(reauthenticateKey(deps(), caller(secret))), 'invalid_key')
    assert.equal(await codeOf(authenticateSessionKey(deps(), caller(secret))), 'invalid_key')
  })
})

describe('wrong keys', () => {
  const guess = async (times: number, client?: string) => {
    const codes = []
    for (let at = 0; at < times; at += 1) {
      codes.push(await codeOf(authenticateKey(deps(), caller(NOBODYS, { client }))))
    }
    return codes
  }

  test('the twenty-first within a minute holds its client up, whatever it presents then', async () => {
    const { secret } = await keys().issue()
    assert.deepEqual(new Set(await guess(20, '192.0.2.1')), new Set(['invalid_key']))
    assert.ok(await authenticateKey(deps(), caller(secret)), 'twenty are not too many')
    assert.deepEqual(await guess(1, '192.0.2.1'), ['rate_limited'])
    for (const text of [secret, NOBODYS, undefined]) {
      const problem = await refused(authenticateKey(deps(), caller(text)))
      assert.deepEqual([problem.code, problem.retryAfter], ['rate_limited', 3])
      assert.equal(await codeOf(identifyKey(deps(), caller(text))), 'rate_limited')
      assert.equal(await codeOf(authenticateSessionKey(deps(), caller(text))), 'rate_limited')
    }
    assert.ok(
      await authenticateKey(deps(), caller(secret, { client: '192.0.2.2' })),
      'another client',
    )
    now = new Date(NOON.getTime() + 3_000)
    assert.ok(await authenticateKey(deps(), caller(secret)), 'after the time to wait')
  })

  test('nothing is asked of the store for a client that is held up', async () => {
    await guess(21, '192.0.2.1')
    asked = 0
    await guess(5, '192.0.2.1')
    assert.equal(asked, 0)
  })

  test('are counted for nobody where the client is loopback', async () => {
    const codes = await guess(50)
    assert.deepEqual(new Set(codes), new Set(['invalid_key']))
  })

  test('a missing key is no guess, and a good one none either', async () => {
    const { secret } = await keys().issue()
    for (let at = 0; at < 50; at += 1) {
      assert.equal(await codeOf(authenticateKey(deps(), caller(undefined))), 'invalid_key')
      assert.equal(await codeOf(authenticateKey(deps(), caller(''))), 'invalid_key')
      assert.ok(await authenticateKey(deps(), caller(secret)))
    }
    assert.deepEqual(await guess(1, '192.0.2.1'), ['invalid_key'])
  })
})

describe('the state of a key', () => {
  test('used up: the link to buy', async () => {
    const { secret } = await keys().issue({ requests: 0 })
    const { code, message, retryAfter } = await refused(authenticateKey(deps(), caller(secret)))
    assert.deepEqual([code, retryAfter], ['quota_exhausted', undefined])
    assert.match(message, /https:\/\/mayfly\.test\/pricing$/)
  })

  test('over at the very second, not a moment before', async () => {
    const { secret } = await keys().issue({ months: 12 })
    now = new Date('2027-03-01T11:59:59.999Z')
    assert.ok(await authenticateKey(deps(), caller(secret)))
    now = new Date('2027-03-01T12:00:00Z')
    const { code, message } = await refused(authenticateKey(deps(), caller(secret)))
    assert.equal(code, 'plan_expired')
    assert.match(message, /expired.*https:\/\/mayfly\.test\/pricing$/)
  })

  test('stopped: its own words, and the link', async () => {
    const { secret } = await keys().issueRefunded()
    const { code, message } = await refused(authenticateKey(deps(), caller(secret)))
    assert.equal(code, 'plan_expired')
    assert.match(message, /refunded or is disputed.*https:\/\/mayfly\.test\/pricing$/)
  })

  test('used up for today: until 00:00 UTC', async () => {
    const { id, secret } = await keys().issue({ perDay: 1 })
    await shop.spendRequest(id, now)
    const { code, retryAfter } = await refused(authenticateKey(deps(), caller(secret)))
    assert.deepEqual([code, retryAfter], ['daily_limit', 12 * 3_600])
    now = new Date('2026-03-01T23:59:59.900Z')
    assert.equal((await refused(authenticateKey(deps(), caller(secret)))).retryAfter, 1)
    now = new Date('2026-03-02T00:00:00Z')
    assert.ok(await authenticateKey(deps(), caller(secret)))
  })

  test('is told to the caller before it is refused for it', async () => {
    const { id, secret } = await keys().issue({ requests: 0 })
    const seen: string[] = []
    const told = caller(secret, { seen: (key) => seen.push(key.id) })
    await refused(authenticateKey(deps(), told))
    await refused(reauthenticateKey(deps(), told))
    assert.deepEqual(seen, [id, id])
  })

  test('does not matter where nothing is used, as long as it is a key at all', async () => {
    const { secret } = await keys().issue({ requests: 0 })
    assert.ok(await identifyKey(deps(), caller(secret)))
  })
})

describe('a key for a session', () => {
  test('may be used up for today', async () => {
    const { id, secret } = await keys().issue({ perDay: 1 })
    await shop.spendRequest(id, now)
    assert.equal((await authenticateSessionKey(deps(), caller(secret))).id, id)
  })

  test('may not be used up or stopped', async () => {
    const empty = await keys().issue({ requests: 0 })
    assert.equal(
      await codeOf(authenticateSessionKey(deps(), caller(empty.secret))),
      'quota_exhausted',
    )
    const stopped = await keys().issueRefunded()
    assert.equal(
      await codeOf(authenticateSessionKey(deps(), caller(stopped.secret))),
      'plan_expired',
    )
  })
})
