import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../../test/support/postgres.ts'
import { openPostgresTestShop } from '../../../../test/support/postgres-stores.ts'
import { utcDay } from '../../../core/key.ts'
import { StoreUnavailable } from '../../../core/problem.ts'
import { DAY, KEY, later, NOON } from '../../contract/shop-fixture.ts'
import type { NewKey, ShopStore, Spent } from '../../shop-store.ts'
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
const counted = async () => {
  const days = await opened.store.readUsage('k1', 0)
  return days.map(({ count }) => count)
}

/** Asks so often, in turns at both nodes, all at once; the answer is what passed. */
async function ask(times: number, nowAt = (_: number) => NOON): Promise<Spent[]> {
  const asked = Array.from({ length: times }, (_, at) =>
    nodes[at % 2 === 0 ? 0 : 1].spendRequest('k1', nowAt(at)),
  )
  return (await Promise.all(asked)).filter((spent) => spent !== undefined)
}

describe('two nodes that spend of one key', () => {
  for (const left of [1, 10, 999]) {
    test(`with ${left} left take ${left} of 2,000, and tell each its own count`, async () => {
      await add({ maxRequests: left })
      const counts = (await ask(2_000)).map((spent) => spent.used)
      const all = Array.from({ length: left }, (_, at) => at + 1)
      assert.deepEqual(
        counts.sort((one, next) => one - next),
        all,
      )
      assert.deepEqual([await used(), await counted()], [left, [left]])
    })
  }

  test('take no more of a day than it has, also when the clock of one is a day behind', async () => {
    await add({ maxRequests: 1_000, maxPerDay: 30 })
    // Else the one that is behind may be first, on a day of its own.
    await opened.store.spendRequest('k1', later(DAY))
    const passed = await ask(200, (at) => (at % 2 === 0 ? NOON : later(DAY)))
    assert.equal(passed.length, 29)
    assert.deepEqual(new Set(passed.map(({ day }) => day)), new Set([utcDay(later(DAY))]))
    assert.deepEqual([await used(), await counted()], [30, [30]])
  })

  test('can spend what was given back meanwhile, once', async () => {
    await add({ maxRequests: 50 })
    const first = await ask(50)
    const back = Promise.all(
      first.slice(0, 20).map((spent, at) => nodes[at % 2 ? 0 : 1].returnRequest('k1', spent)),
    )
    const meanwhile = await ask(100)
    await back
    const afterwards = await ask(100)
    assert.equal(meanwhile.length + afterwards.length, 20)
    assert.deepEqual([await used(), await counted()], [50, [50]])
  })

  test('take nothing of it once a revoke is answered', async () => {
    await add({ maxRequests: 100_000 })
    const before = ask(500)
    await opened.other.revokeKey('k1')
    assert.deepEqual(await ask(50), [])
    assert.equal(await used(), (await before).length)
  })
})

describe('requests that wait in one thread', () => {
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
    // The first of each finds nobody to wait for, all others wait for its answer.
    assert.equal(statements, 4)
    assert.equal(await used(), 300)
  })

  test('and may not all pass are few', async () => {
    await add({ maxRequests: 100 })
    const spent = await spend('k1', 1_001)
    assert.equal(spent.filter((one) => one !== undefined).length, 100)
    assert.ok(statements <= 20, `${statements} statements`)
  })
})

test('a server that dies while requests are spent gives none away, says so, and goes on', async () => {
  const [PLAN, CLIENTS] = [3_000, 30]
  await add({ maxRequests: PLAN })
  let served = 0
  const away: unknown[] = []
  /** As a caller would, who asks one after the other. */
  async function client(node: ShopStore): Promise<void> {
    for (let passed = true; passed; ) {
      try {
        passed = (await node.spendRequest('k1', NOON)) !== undefined
        if (passed) served += 1
      } catch (error) {
        away.push(error)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
  }
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, (_, at) => client(nodes[at % 2 ? 0 : 1])),
  )
  for (const goal of [300, 1_500]) {
    while (served < goal) await new Promise(setImmediate)
    await postgres.stop('SIGQUIT')
    const before = away.length
    while (away.length < before + CLIENTS) await new Promise(setImmediate)
    const heard = served
    await postgres.start()
    assert.ok(((await used()) ?? 0) >= heard)
  }
  await clients
  assert.equal(await used(), PLAN)
  assert.deepEqual(await counted(), [PLAN])
  assert.ok(served <= PLAN && served >= PLAN - away.length, `${served} of ${PLAN}`)
  assert.ok(away.length > 0, 'it died while they were busy')
  assert.ok(away.every((error) => error instanceof StoreUnavailable))
})
