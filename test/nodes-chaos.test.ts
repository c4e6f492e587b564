import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { openKeyRing, type TestKey } from './support/keys.ts'
import { type Load, startLoad } from './support/node-load.ts'
import {
  assertLogsClean,
  type Nodes,
  openNodes,
  raceForAddress,
  raceForRequests,
  type StatusCounts,
} from './support/nodes.ts'
import { openRedis, openRedisCluster } from './support/redis.ts'
import { waitUntil } from './support/wait-until.ts'

const LONG = process.env['MAYFLY_TEST_LONG'] !== undefined
const ROUNDS = LONG ? 10 : 1
// Minimum time between two faults.
const MAILS = 45
const CLIENTS = 100
const REQUESTS = 20
// Mailboxes never fill up, so every rejection is caused by a fault.
const ENV = { MAYFLY_SESSION_MAX_MESSAGES: '100000', MAYFLY_SESSION_MAX_BYTES: '10GB' }

type Fixture = Awaited<ReturnType<typeof open>>

/** Run one after the other. Together they kill every node. */
const FAULTS: readonly [string, (fixture: Fixture) => Promise<unknown>][] = [
  [
    'Redis, with its data, and two nodes crash',
    (fixture) => all(killRedis(fixture.redis), killNode(fixture, 0), killNode(fixture, 1)),
  ],
  ['PostgreSQL and a node crash', (fixture) => all(killPostgres(fixture), killNode(fixture, 2))],
]

const MORE_FAULTS: typeof FAULTS = [
  [
    'Redis loses its data and a node crashes',
    (fixture) => all(fixture.redis.empty(), killNode(fixture, 0)),
  ],
  ['PostgreSQL crashes', (fixture) => killPostgres(fixture)],
  ['Redis and a node crash', (fixture) => all(killRedis(fixture.redis), killNode(fixture, 1))],
  ['a node crashes', (fixture) => killNode(fixture, 1)],
  ['Redis loses its data', ({ redis }) => redis.empty()],
  ['PostgreSQL crashes', (fixture) => killPostgres(fixture)],
  ['Redis crashes', ({ redis }) => killRedis(redis)],
]

describe('mail acknowledged with 250 is stored unchanged and exactly once, visible on every node', () => {
  const limit = 60_000 + ROUNDS * 500_000
  test('with one Redis', () => runFaults(oneRedis), limit)
  test.runIf(LONG)('with a Redis Cluster', () => runFaults(redisCluster), limit)
})

async function runFaults(openRedisFixture: () => Promise<RedisFixture>): Promise<void> {
  const fixture = await open(await openRedisFixture())
  const { nodes } = fixture
  const firstSweeper = await sweeper(nodes)
  let total = 0
  for (let round = 1; round <= ROUNDS; round += 1) {
    const name = `round-${round}`
    const load = await startLoad(nodes, { senders: 4, ownBoxes: 6, crowdedBoxes: 8, name })
    for (const [at, [what, fault]] of (LONG ? [...FAULTS, ...MORE_FAULTS] : FAULTS).entries()) {
      await load.waitForMore(MAILS)
      await delay(Math.random() * 500)
      // A query just before the kill flushes pending writes to disk, so it is not made every time.
      const races = at % 2 === 0 ? await startRaces(fixture, `${name}-${at}`) : undefined
      const before = performance.now()
      await fault(fixture)
      await races?.settle()
      const ms = Math.round(performance.now() - before)
      process.stdout.write(`${what}: over after ${ms} ms\n`)
    }
    total += await finishLoad(nodes, load)
  }
  const [row] = await nodes.query('select count(*) from mail.message')
  assert.equal(Number(row?.['count']), total, 'there is no mail anywhere else')
  // Every node was killed, and so was the one that swept. Its lease lasts to its end in the long run only.
  if (!LONG) await nodes.query(`update mail.lease set ends_at = 0 where holder = '${firstSweeper}'`)
  await waitUntil(async () => (await sweeper(nodes)) !== firstSweeper)
  const stopped = nodes.up().map((number) => nodes.kill(number, 'SIGTERM'))
  assert.deepEqual(await Promise.all(stopped), [0, 0, 0])
}

/** Returns the number of stored mails, including unacknowledged ones. */
async function finishLoad(nodes: Nodes, load: Load): Promise<number> {
  const { lines, storedCount: total } = await load.finish()
  const { refused, checked: checkCount, checkedEverywhere } = load.tally
  const checks = `${checkCount} looks right after a 250`
  process.stdout.write(`${lines.length} mails acknowledged, ${refused} not; ${checks}\n`)
  assert.ok(checkedEverywhere > 20, `${checkedEverywhere} mails were looked for everywhere`)
  assertLogsClean(nodes.output(), [...load.sent.keys(), ...load.boxes.map(({ token }) => token)])
  return total
}

/** The holder of the unexpired lease. */
async function sweeper(nodes: Nodes): Promise<unknown> {
  const now = 'extract(epoch from clock_timestamp()) * 1000'
  const lease = `select holder from mail.lease where name = 'sweep' and ends_at > ${now}`
  let holder: unknown
  await waitUntil(async () => {
    const [row] = await nodes.query(lease)
    holder = row?.['holder']
    return row
  })
  return holder
}

/** During the faults, clients compete for one address and for more requests than a key has left. */
async function startRaces({ nodes, ring }: Fixture, name: string) {
  const key = await ring.issue({ requests: REQUESTS })
  const races = Promise.all([
    raceForAddress(nodes.urls, name, CLIENTS),
    raceForRequests(nodes.urls, key, CLIENTS),
  ])
  return {
    async settle(): Promise<void> {
      const [address, requests] = await races
      for (const counts of [address, requests]) assertAllowed(counts)
      const { 200: winners = 0 } = address
      assert.ok(winners <= 1, `${winners} have the same address`)
      if (unanswered(address) === 0) assert.equal(winners, 1)
      assertWithinQuota((await ring.used(key as TestKey)) ?? 0, requests)
    },
  }
}

function assertWithinQuota(used: number, counts: StatusCounts): void {
  const { 200: served = 0 } = counts
  assert.ok(served <= used && used <= REQUESTS, `${served} were served, ${used} are counted`)
  assert.ok(used - served <= unanswered(counts), 'only what was not answered is lost')
  if (unanswered(counts) === 0) assert.equal(served, REQUESTS)
}

/** 0 is a connection that was refused or closed. */
function assertAllowed(counts: StatusCounts): void {
  const allowed = ['0', '200', '402', '409', '503']
  assert.deepEqual(
    Object.keys(counts).filter((status) => !allowed.includes(status)),
    [],
  )
}

function unanswered({ 0: closed = 0, 503: unavailable = 0 }: StatusCounts): number {
  return closed + unavailable
}

async function open(redis: RedisFixture) {
  onTestFinished(() => redis.close())
  const nodes = await openNodes({ env: ENV, redis: redis.url })
  onTestFinished(() => nodes.close())
  const config = { data: nodes.folder, store: nodes.store }
  const ring = await openKeyRing({ config, now: () => new Date() })
  onTestFinished(() => ring.close())
  return { nodes, redis, ring }
}

/** One Redis or a cluster, with the operations that the faults need. */
interface RedisFixture {
  url: string
  stop(): Promise<void>
  start(): Promise<void>
  empty(): Promise<void>
  close(): Promise<void>
}

async function oneRedis(): Promise<RedisFixture> {
  const redis = await openRedis()
  return { ...redis, empty: async () => void (await redis.run('FLUSHALL')) }
}

/** One master is killed each time. */
async function redisCluster(): Promise<RedisFixture> {
  const { url, masters, close } = await openRedisCluster()
  let turn = 0
  const victim = () => masters[turn % 3] ?? masters[0]
  return {
    url,
    stop: () => victim().stop(),
    async start() {
      await victim().start()
      turn += 1
    },
    async empty() {
      for (const master of masters) await master.run('FLUSHALL')
    },
    close,
  }
}

async function killNode({ nodes }: Fixture, number: number): Promise<void> {
  await nodes.kill(number)
  await nodes.restart(number)
}

async function killPostgres({ nodes }: Fixture): Promise<void> {
  await nodes.postgres().stop('SIGQUIT')
  await delay(500 + Math.random() * 500)
  await nodes.postgres().start()
}

async function killRedis(redis: RedisFixture): Promise<void> {
  await redis.stop()
  await delay(500 + Math.random() * 500)
  await redis.start()
}

const all = (...faults: Promise<void>[]) => Promise.all(faults)

/** A random delay; it does not wait for anything in particular. */
function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
