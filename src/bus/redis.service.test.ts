import { afterAll, afterEach, beforeAll, describe, expect, type TestContext, test } from 'vitest'
import { openRedis, type TestRedis } from '../../test/kit/redis/redis.ts'
import { waitUntil } from '../../test/kit/wait-until.ts'
import { busContract } from './bus.contract.ts'
import {
  ANN,
  BOB,
  type NodeOptions,
  openNodes,
  waiter,
  waitUntilReceived,
} from './testing/nodes.ts'

const CHANNEL = 'mayfly:wakes'

let server: TestRedis
const nodes = openNodes(() => server.url)

beforeAll(async () => {
  server = await openRedis()
})
afterEach(nodes.close)
afterAll(() => server.close())

describe('the bus of several nodes', () => busContract(nodes.pair))

test('a wake reaches only the mailbox it names', async () => {
  const [here, there] = await nodes.pair()
  await waitUntilReceived(here, there)
  await waitUntilReceived(there, here)
})

test('another thread of the same node is woken once', async () => {
  const [one, two] = await nodes.openNode(2)
  const [elsewhere] = await nodes.openNode()
  expect.assert(two)
  await waitUntilReceived(elsewhere, two)
  const [ann, bob] = [waiter(two), waiter(two, BOB)]
  one.wake(ANN)
  await ann.until(1)
  await one.close()
  // Published after all its wakes, so it arrives last.
  await server.run('PUBLISH', CHANNEL, `stranger ${BOB}`)
  await bob.until(1)
  expect(ann.calls()).toBe(1)
})

test('a thread subscribes with its first waiter', async () => {
  const [here, there] = await nodes.pair()
  const subscribers = async () => (await server.run('PUBSUB', 'NUMSUB', CHANNEL)) as unknown[]
  here.wake(ANN)
  expect(await subscribers()).toStrictEqual([CHANNEL, 0])
  await waitUntilReceived(here, there)
  expect(await subscribers()).toStrictEqual([CHANNEL, 1])
})

test('wakes of one turn are one message, with each mailbox once', async () => {
  const [here, there] = await nodes.pair()
  await waitUntilReceived(here, there)
  const [ann, bob] = [waiter(there), waiter(there, BOB)]
  await server.run('CONFIG', 'RESETSTAT')
  for (const mailbox of [ANN, ANN, BOB, ANN]) here.wake(mailbox)
  await Promise.all([ann.until(1), bob.until(1)])
  expect(String(await server.run('INFO', 'commandstats'))).toMatch(/cmdstat_publish:calls=1,/)
  expect([ann.calls(), bob.calls()]).toStrictEqual([1, 1])
})

test('a malformed message wakes nobody and breaks nothing', async () => {
  const [here, there] = await nodes.pair()
  await waitUntilReceived(here, there)
  const ann = waiter(there)
  for (const message of ['', ' ', 'x', 'x y', `x ${ANN}1`, '\0', 'x '.repeat(10_000)]) {
    await server.run('PUBLISH', CHANNEL, message)
  }
  await server.run('PUBLISH', CHANNEL, `x ${ANN}`)
  await ann.until(1)
  expect(ann.calls()).toBe(1)
})

test('a flush changes nothing', async () => {
  const [here, there] = await nodes.pair()
  await waitUntilReceived(here, there)
  await server.run('FLUSHALL')
  await waitUntilReceived(here, there)
})

/** Nodes with a Redis of their own, which can be stopped while other tests run. */
async function openOwnNodes({ onTestFinished }: TestContext, options: NodeOptions = {}) {
  const own = await openRedis()
  const ownNodes = openNodes(() => own.url, options)
  onTestFinished(async () => {
    await ownNodes.close()
    await own.close()
  })
  return { server: own, nodes: ownNodes }
}

// Concurrently, because they mostly wait for timeouts.
describe.concurrent('while Redis is unavailable', () => {
  test('waiters are called regularly, wakes of the same node are instant, and the bus recovers', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = await nodes.pair()
    await waitUntilReceived(here, there)
    await server.stop()
    const remoteWaiter = waiter(there)
    await remoteWaiter.until(2)
    const localWaiter = waiter(here)
    here.wake(ANN)
    await localWaiter.until(1)
    await server.start()
    await waitUntilReceived(here, there)
    await waitUntilReceived(there, here)
  })

  test('waiters are called once a second by default', async (context) => {
    const { server, nodes } = await openOwnNodes(context, { bus: {} })
    await server.stop()
    const [node] = await nodes.openNode()
    const ann = waiter(node)
    await ann.until(1)
    const start = performance.now()
    await ann.until(3)
    const tookMs = performance.now() - start
    expect(tookMs, `${tookMs} ms for two more calls`).toBeGreaterThan(1_500)
  })

  test('nodes start without it and connect when it becomes available', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    await server.stop()
    const [here, there] = await nodes.pair()
    const ann = waiter(there)
    here.wake(ANN)
    await ann.until(2)
    await server.start()
    await waitUntilReceived(here, there)
  })

  test('a node that shuts down does not wait for it', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = await nodes.pair()
    await waitUntilReceived(here, there)
    await server.stop()
    here.wake(ANN)
    await nodes.close()
    await server.start()
  })

  test('a wake that could not be published is delivered later', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = await nodes.pair()
    await waitUntilReceived(here, there)
    const ann = waiter(there)
    await server.run('ACL', 'SETUSER', 'default', '-publish')
    here.wake(ANN)
    await waitUntil(async () => String(await server.run('INFO', 'errorstats')).includes('NOPERM'))
    expect(ann.calls()).toBe(0)
    await server.run('ACL', 'SETUSER', 'default', '+publish')
    // The next wake succeeds, and does not replace it.
    here.wake(BOB)
    await ann.until(1)
  })

  test('a wake sent while Redis is paused arrives when it resumes', async (context) => {
    const { server, nodes } = await openOwnNodes(context)
    const [here, there] = await nodes.pair()
    await waitUntilReceived(here, there)
    const ann = waiter(there)
    const sleeping = server.run('DEBUG', 'SLEEP', '0.5')
    here.wake(ANN)
    await ann.until(1)
    await sleeping
  })

  test('a Redis that hangs counts as unavailable, and recovers', async (context) => {
    const { server, nodes } = await openOwnNodes(context, { timeoutMs: 500 })
    const [here, there] = await nodes.pair()
    await waitUntilReceived(here, there)
    server.freeze()
    await waiter(there).until(1)
    server.unfreeze()
    await waitUntilReceived(here, there)
  })
})
