import { expect, onTestFinished, test } from 'vitest'
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
} from './kit/nodes/node-faults.ts'
import { openNodes } from './kit/nodes/nodes.ts'
import { openKeyRing } from './kit/shop/keys.ts'

// All faults, again and again. The first two are in nodes.test.ts, too.

const ROUNDS = 10
const LIMIT_MS = 60_000 + ROUNDS * 500_000

const MORE_FAULTS: readonly Fault[] = [
  [
    'Redis loses its data and a node crashes',
    (fixture) => all(emptyRedis(fixture), killNode(fixture, 0)),
  ],
  ['PostgreSQL crashes', killPostgres],
  ['Redis and a node crash', (fixture) => all(killRedis(fixture), killNode(fixture, 1))],
  ['a node crashes', (fixture) => killNode(fixture, 1)],
  ['Redis loses its data', emptyRedis],
  ['PostgreSQL crashes', killPostgres],
  ['Redis crashes', killRedis],
]

test(
  'mail acknowledged with 250 is stored unchanged and exactly once, visible on every node',
  async () => {
    const fixture = await openFixture()
    await runFaults(fixture, [...FAULTS, ...MORE_FAULTS], ROUNDS)
    const { nodes } = fixture
    const stopped = nodes.up().map((number) => nodes.kill(number, 'SIGTERM'))
    expect(await Promise.all(stopped)).toStrictEqual([0, 0, 0])
  },
  LIMIT_MS,
)

async function openFixture(): Promise<FaultFixture> {
  const nodes = await openNodes({ env: ROOMY_MAILBOXES })
  onTestFinished(() => nodes.close())
  const config = { data: nodes.folder, store: nodes.store }
  const ring = await openKeyRing({ config, now: () => new Date() })
  onTestFinished(() => ring.close())
  return { nodes, ring }
}

async function emptyRedis({ nodes }: FaultFixture): Promise<void> {
  await nodes.redis().run('FLUSHALL')
}
