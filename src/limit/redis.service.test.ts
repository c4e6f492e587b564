import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  type TestContext,
  test,
} from 'vitest'
import { openRedis, type TestRedis } from '../../test/kit/redis/redis.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { limitContract } from './limit.contract.ts'
import { countPassed, NOW, openNodes, SLOW_RATE, untilShared } from './testing/nodes.ts'

let server: TestRedis
const nodes = openNodes(() => server.url)

beforeAll(async () => {
  server = await openRedis()
})
beforeEach(() => server.run('FLUSHALL', 'SYNC'))
afterEach(nodes.close)
afterAll(() => server.close())

describe('rates of several nodes', () => limitContract(nodes.pair))

test('fractions of a millisecond are not lost', async () => {
  const limit = await nodes.openNode()
  const rate = { count: 7, seconds: 1, burst: 7 }
  let count = 0
  for (let ms = 0; ms <= 3_000; ms += 5) {
    while ((await limit.take('ann', rate, new Date(NOW.getTime() + ms))) === 0) count += 1
  }
  expect(count).toBe(7 + 3 * 7)
})

test('stored keys do not contain the address and expire soon after the rate recovers', async () => {
  const limit = await nodes.openNode()
  const rate = { count: 10, seconds: 1, burst: 5 }
  await limit.take('http:request:192.0.2.7', rate, NOW)
  const keys = (await server.run('KEYS', '*')) as string[]
  expect(keys.join()).toMatch(/^mayfly:rate:[\w-]{22}$/)
  const ttl = Number(await server.run('PTTL', keys[0] ?? ''))
  expect(ttl > 0 && ttl <= 10_100, `${ttl}`).toBeTruthy()
})

test('a script flushed from Redis is loaded again', async () => {
  const limit = await nodes.openNode()
  expect(await countPassed(limit, 1)).toBe(1)
  await server.run('SCRIPT', 'FLUSH')
  expect(await countPassed(limit, 5)).toBe(2)
  expect(await countPassed(await nodes.openNode(), 5)).toBe(0)
})

test('a limited client passes again after a flush', async () => {
  const [here, there] = await nodes.pair()
  expect(await countPassed(here, 10)).toBe(3)
  expect(await countPassed(there, 10)).toBe(0)
  await server.run('FLUSHALL')
  expect(await countPassed(there, 10)).toBe(3)
  expect(await countPassed(here, 10)).toBe(0)
})

/** Nodes with a Redis of their own, which can be stopped while other tests run. */
async function openOwnNodes({ onTestFinished }: TestContext) {
  const own = await openRedis()
  const ownNodes = openNodes(() => own.url)
  onTestFinished(async () => {
    await ownNodes.close()
    await own.close()
  })
  return { server: own, nodes: ownNodes }
}

// Concurrently, because they mostly wait for timeouts.
describe.concurrent('while Redis is unavailable', () => {
  test('each node counts locally, and together again afterwards', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = await nodes.pair()
    await untilShared(here, there)
    await server.stop()
    expect(await countPassed(here, 10)).toBe(3)
    expect(await countPassed(there, 10)).toBe(3)
    expect(await here.peek('ann', SLOW_RATE, NOW)).toBeGreaterThan(0)
    expect(await here.peek('bob', SLOW_RATE, NOW)).toBe(0)
    await server.start()
    await untilShared(here, there)
  })

  test('nodes start without it and connect when it becomes available', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    await server.stop()
    const [here, there] = await nodes.pair()
    expect(await countPassed(here, 10)).toBe(3)
    await server.start()
    await untilShared(here, there)
  })

  test('the node decides while Redis is paused', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = [await nodes.openNode(100), await nodes.openNode()]
    await countPassed(there, 10)
    server.freeze()
    // Exhausted in Redis, not on this node.
    await waitUntil(async () => (await here.take('ann', SLOW_RATE, NOW)) === 0)
    server.unfreeze()
    await untilShared(here, there)
  })

  test('a Redis that does not respond is tried once a second, not by every request', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = [await nodes.openNode(100), await nodes.openNode()]
    await untilShared(here, there)
    await server.run('CONFIG', 'RESETSTAT')
    server.freeze()
    const frozenAt = performance.now()
    expect(await countPassed(here, 200)).toBe(3)
    const seconds = Math.ceil((performance.now() - frozenAt) / 1_000)
    server.unfreeze()
    let calls: string | undefined
    await waitUntil(async () => {
      const stats = String(await server.run('INFO', 'commandstats'))
      calls = /cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]
      return calls
    })
    expect(Number(calls), `${calls} calls in ${seconds} s`).toBeLessThan(10 + seconds)
    await untilShared(here, there)
  })
})
