import assert from 'node:assert/strict'
import { describe, onTestFinished, test } from 'vitest'
import { openKeyRing } from './support/keys.ts'
import {
  all,
  FAULTS,
  type Fault,
  type FaultFixture,
  killNode,
  killPostgres,
  killRedis,
  ROOMY_MAILBOXES,
  runFaults,
} from './support/node-faults.ts'
import { openNodes } from './support/nodes.ts'
import { openRedis, openRedisCluster } from './support/redis.ts'

// All faults, again and again. The first two are in nodes.test.ts, too.

const ROUNDS = 10
const LIMIT_MS = 60_000 + ROUNDS * 500_000

interface Fixture extends FaultFixture {
  redis: RedisFixture
}

const MORE_FAULTS: readonly Fault<Fixture>[] = [
  [
    'Redis loses its data and a node crashes',
    (fixture) => all(fixture.redis.empty(), killNode(fixture, 0)),
  ],
  ['PostgreSQL crashes', killPostgres],
  ['Redis and a node crash', (fixture) => all(killRedis(fixture), killNode(fixture, 1))],
  ['a node crashes', (fixture) => killNode(fixture, 1)],
  ['Redis loses its data', ({ redis }) => redis.empty()],
  ['PostgreSQL crashes', killPostgres],
  ['Redis crashes', killRedis],
]

describe('mail acknowledged with 250 is stored unchanged and exactly once, visible on every node', () => {
  for (const [name, open] of [
    ['with one Redis', oneRedis],
    ['with a Redis Cluster', redisCluster],
  ] as const) {
    test(
      name,
      async () => {
        const fixture = await openFixture(await open())
        await runFaults(fixture, [...FAULTS, ...MORE_FAULTS], ROUNDS)
        const { nodes } = fixture
        const stopped = nodes.up().map((number) => nodes.kill(number, 'SIGTERM'))
        assert.deepEqual(await Promise.all(stopped), [0, 0, 0])
      },
      LIMIT_MS,
    )
  }
})

async function openFixture(redis: RedisFixture): Promise<Fixture> {
  onTestFinished(() => redis.close())
  const nodes = await openNodes({ env: ROOMY_MAILBOXES, redis: redis.url })
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
