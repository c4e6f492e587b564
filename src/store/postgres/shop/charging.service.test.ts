import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/support/postgres.ts'
import { openPostgresTestShop } from '../../../../test/support/postgres-stores.ts'
import { StoreUnavailable } from '../../../base/problem.ts'
import { utcDay } from '../../../keys/rules.ts'
import type { NewKey, Spent } from '../../../keys/store.ts'
import { DAY, KEY, later, NOON } from '../../contract/shop-fixture.ts'
import type { ShopStore } from '../../store.ts'
import { openConnections } from '../connection/connections.ts'
import { spendingWrites } from './spending.ts'

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
async function spendConcurrently(times: number, nowAt = (_: number) => NOON): Promise<Spent[]> {
  const requests = Array.from({ length: times }, (_, at) =>
    nodes[at % 2 === 0 ? 0 : 1].spendRequest('k1', nowAt(at)),
  )
  return (await Promise.all(requests)).filter((spent) => spent !== undefined)
}

describe('two nodes that charge one key', () => {
  for (const left of [1, 10, 999]) {
    test(`with ${left} requests left accept ${left} of 2,000, each with its own count`, async () => {
      await add({ maxRequests: left })
      const counts = (await spendConcurrently(2_000)).map((spent) => spent.used)
      const all = Array.from({ length: left }, (_, at) => at + 1)
      assert.deepEqual(
        counts.sort((one, next) => one - next),
        all,
      )
      assert.deepEqual([await used(), await dailyCounts()], [left, [left]])
    })
  }

  test('never exceed the daily limit, even if the clock of one is a day behind', async () => {
    await add({ maxRequests: 1_000, maxPerDay: 30 })
    // Otherwise the node that is behind could be first, and charge its own day.
    await opened.store.spendRequest('k1', later(DAY))
    const passed = await spendConcurrently(200, (at) => (at % 2 === 0 ? NOON : later(DAY)))
    assert.equal(passed.length, 29)
    assert.deepEqual(new Set(passed.map(({ day }) => day)), new Set([utcDay(later(DAY))]))
    assert.deepEqual([await used(), await dailyCounts()], [30, [30]])
  })

  test('accept a refunded request again, once', async () => {
    await add({ maxRequests: 50 })
    const first = await spendConcurrently(50)
    const refunds = Promise.all(
      first.slice(0, 20).map((spent, at) => nodes[at % 2 ? 0 : 1].returnRequest('k1', spent)),
    )
    const duringRefunds = await spendConcurrently(100)
    await refunds
    const afterRefunds = await spendConcurrently(100)
    assert.equal(duringRefunds.length + afterRefunds.length, 20)
    assert.deepEqual([await used(), await dailyCounts()], [50, [50]])
  })

  test('accept nothing after a revoke has returned', async () => {
    await add({ maxRequests: 100_000 })
    const before = spendConcurrently(500)
    await opened.other.revokeKey('k1')
    assert.deepEqual(await spendConcurrently(50), [])
    assert.equal(await used(), (await before).length)
  })
})

describe('requests queued in one thread', () => {
  let statements: number
  let pool: ReturnType<typeof openConnections>
  let spending: ReturnType<typeof spendingWrites>
  beforeEach(() => {
    statements = 0
    pool = openConnections({ url: opened.url })
    spending = spendingWrites({
      ...pool,
      query: (text, values) => {
        statements += 1
        return pool.query(text, values)
      },
    })
  })
  afterEach(() => pool.close())

  const spend = (keyId: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => spending.spendRequest(keyId, NOON)))

  test('for the same key are one statement', async () => {
    await add({ maxRequests: 1_000 })
    await add({ id: 'k2', secretHash: 'second', maxRequests: 1_000 })
    await Promise.all([spend('k1', 300), spend('k2', 300)])
    // The first one of each key is sent alone, all others wait for its result.
    assert.equal(statements, 4)
    assert.equal(await used(), 300)
  })

  test('beyond the quota need few statements', async () => {
    await add({ maxRequests: 100 })
    const spent = await spend('k1', 1_001)
    assert.equal(spent.filter((one) => one !== undefined).length, 100)
    assert.ok(statements <= 20, `${statements} statements`)
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
        passed = (await node.spendRequest('k1', NOON)) !== undefined
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
    assert.ok(((await used()) ?? 0) >= servedBefore)
  }
  await clients
  assert.equal(await used(), PLAN)
  assert.deepEqual(await dailyCounts(), [PLAN])
  assert.ok(served <= PLAN && served >= PLAN - failures.length, `${served} of ${PLAN}`)
  assert.ok(failures.length > 0, 'it died while they were busy')
  assert.ok(failures.every((error) => error instanceof StoreUnavailable))
})
