import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/kit/store/postgres.ts'
import { openPostgresTestShop } from '../../../../test/kit/store/postgres-stores.ts'
import { DAY, KEY, later, NOON } from '../../../../test/kit/store/shop-fixture.ts'
import { StoreUnavailable } from '../../../base/problem.ts'
import { utcDay } from '../../../keys/rules.ts'
import type { ChargedKey, NewKey } from '../../../keys/store.ts'
import type { ShopStore } from '../../store.ts'
import { openConnections } from '../connection/connections.ts'
import { chargeWrites } from './charging.ts'

let postgres: Postgres
let opened: Awaited<ReturnType<typeof openPostgresTestShop>>
let nodes: [ShopStore, ShopStore]

beforeAll(async () => {
  postgres = await openPostgres()
})
afterAll(() => postgres.close())
beforeEach(async () => {
  opened = await openPostgresTestShop(postgres)
  nodes = [opened.store, opened.other]
})
afterEach(() => opened.close())

const add = (more: Partial<NewKey>) => opened.store.addKey({ ...KEY, ...more })
const used = async () => (await opened.other.readKey('k1', NOON))?.used
const dailyCounts = async () => {
  const days = await opened.store.readUsage('k1', 0)
  return days.map(({ count }) => count)
}

/** Concurrent requests, alternating between the two nodes; returns those that passed. */
async function chargeConcurrently(
  times: number,
  nowAt = (_: number) => NOON,
): Promise<ChargedKey[]> {
  const requests = Array.from({ length: times }, (_, at) =>
    nodes[at % 2 === 0 ? 0 : 1].chargeRequest('k1', nowAt(at)),
  )
  return (await Promise.all(requests)).filter((charged) => charged !== undefined)
}

describe('two nodes that charge one key', () => {
  for (const left of [1, 10, 999]) {
    test(`with ${left} requests left accept ${left} of 2,000, each with its own count`, async () => {
      await add({ maxRequests: left })
      const counts = (await chargeConcurrently(2_000)).map((charged) => charged.used)
      const all = Array.from({ length: left }, (_, at) => at + 1)
      expect(counts.sort((one, next) => one - next)).toStrictEqual(all)
      expect([await used(), await dailyCounts()]).toStrictEqual([left, [left]])
    })
  }

  test('never exceed the daily limit, even if the clock of one is a day behind', async () => {
    await add({ maxRequests: 1_000, maxPerDay: 30 })
    // Otherwise the node that is behind could be first, and charge its own day.
    await opened.store.chargeRequest('k1', later(DAY))
    const passed = await chargeConcurrently(200, (at) => (at % 2 === 0 ? NOON : later(DAY)))
    expect(passed.length).toBe(29)
    expect(new Set(passed.map(({ day }) => day))).toStrictEqual(new Set([utcDay(later(DAY))]))
    expect([await used(), await dailyCounts()]).toStrictEqual([30, [30]])
  })

  test('accept a refunded request again, once', async () => {
    await add({ maxRequests: 50 })
    const first = await chargeConcurrently(50)
    const refunds = Promise.all(
      first.slice(0, 20).map((charged, at) => nodes[at % 2 ? 0 : 1].refundRequest('k1', charged)),
    )
    const duringRefunds = await chargeConcurrently(100)
    await refunds
    const afterRefunds = await chargeConcurrently(100)
    expect(duringRefunds.length + afterRefunds.length).toBe(20)
    expect([await used(), await dailyCounts()]).toStrictEqual([50, [50]])
  })

  test('accept nothing after a revoke has returned', async () => {
    await add({ maxRequests: 100_000 })
    const before = chargeConcurrently(500)
    await opened.other.revokeKey('k1')
    expect(await chargeConcurrently(50)).toStrictEqual([])
    expect(await used()).toBe((await before).length)
  })
})

describe('requests queued in one thread', () => {
  let statements: number
  let pool: ReturnType<typeof openConnections>
  let charging: ReturnType<typeof chargeWrites>
  beforeEach(() => {
    statements = 0
    pool = openConnections({ url: opened.url })
    charging = chargeWrites({
      ...pool,
      query: (text, values) => {
        statements += 1
        return pool.query(text, values)
      },
    })
  })
  afterEach(() => pool.close())

  const charge = (keyId: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => charging.chargeRequest(keyId, NOON)))

  test('for the same key are one statement', async () => {
    await add({ maxRequests: 1_000 })
    await add({ id: 'k2', secretHash: 'second', maxRequests: 1_000 })
    await Promise.all([charge('k1', 300), charge('k2', 300)])
    // The first one of each key is sent alone, all others wait for its result.
    expect(statements).toBe(4)
    expect(await used()).toBe(300)
  })

  test('beyond the quota need few statements', async () => {
    await add({ maxRequests: 100 })
    const charged = await charge('k1', 1_001)
    expect(charged.filter((one) => one !== undefined).length).toBe(100)
    expect(statements, `${statements} statements`).toBeLessThanOrEqual(20)
  })
})

test('after a server crash no request is accepted beyond the quota, and clients get StoreUnavailable', async () => {
  const [PLAN, CLIENTS] = [3_000, 30]
  await add({ maxRequests: PLAN })
  let served = 0
  const failures: unknown[] = []
  /** A client that sends one request after the other. */
  async function client(node: ShopStore): Promise<void> {
    for (let passed = true; passed; ) {
      try {
        passed = (await node.chargeRequest('k1', NOON)) !== undefined
        if (passed) served += 1
      } catch (error) {
        failures.push(error)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => client(nodes[at % 2 ? 0 : 1])),
  )
  for (const target of [300, 1_500]) {
    while (served < target) await new Promise(setImmediate)
    await postgres.stop('SIGQUIT')
    const before = failures.length
    while (failures.length < before + CLIENTS) await new Promise(setImmediate)
    const servedBefore = served
    await postgres.start()
    expect((await used()) ?? 0).toBeGreaterThanOrEqual(servedBefore)
  }
  await clients
  expect(await used()).toBe(PLAN)
  expect(await dailyCounts()).toStrictEqual([PLAN])
  expect(served <= PLAN && served >= PLAN - failures.length, `${served} of ${PLAN}`).toBeTruthy()
  expect(failures.length, 'it died while they were busy').toBeGreaterThan(0)
  expect(failures.every((error) => error instanceof StoreUnavailable)).toBeTruthy()
})
