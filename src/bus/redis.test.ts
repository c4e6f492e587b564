import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import { openRedis, type TestRedis } from '../../test/support/redis.ts'
import { busContract } from './bus.contract.ts'
import { ANN, BOB, openNodes, untilHeard, waiter } from './testing/nodes.ts'

const CHANNEL = `mayfly:news:{${ANN}}`

let server: TestRedis
const nodes = openNodes(() => server.url)

beforeAll(async () => {
  server = await openRedis()
})
afterEach(nodes.close)
afterAll(() => server.close())

describe('the bus of many nodes', () => busContract(nodes.pair))

test('a wake reaches just the mailbox that it names', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  await untilHeard(there, here)
})

test('another thread of the same node is woken once', async () => {
  const [one, two] = await nodes.openNode(2)
  const [elsewhere] = await nodes.openNode()
  assert.ok(two)
  await untilHeard(elsewhere, two)
  const [ann, bob] = [waiter(two), waiter(two, BOB)]
  one.wake(ANN)
  await ann.until(1)
  await one.close()
  // Behind all that it has told.
  await server.run('SPUBLISH', CHANNEL, `stranger ${BOB}`)
  await bob.until(1)
  assert.equal(ann.calls(), 1)
})

test('a channel that nobody waits for any more is let go of', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  const channels = async () => (await server.run('PUBSUB', 'SHARDCHANNELS')) as string[]
  assert.deepEqual(await channels(), [CHANNEL])
  while ((await channels()).length > 0) await new Promise(setImmediate)
  await untilHeard(here, there)
})

test('what is no news of ours wakes nobody and breaks nothing', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  const ann = waiter(there)
  for (const message of ['', ' ', 'x', 'x y', `x ${ANN}1`, '\0', 'x '.repeat(10_000)]) {
    await server.run('SPUBLISH', CHANNEL, message)
  }
  await server.run('SPUBLISH', CHANNEL, `x ${ANN}`)
  await ann.until(1)
  assert.equal(ann.calls(), 1)
})

describe('while Redis is away', () => {
  test('who waits is called once a second; the node itself is quick; it heals', async () => {
    const [here, there] = await nodes.pair()
    await untilHeard(here, there)
    await server.stop()
    const far = waiter(there)
    await far.until(2)
    const near = waiter(here)
    here.wake(ANN)
    await near.until(1)
    await server.start()
    await untilHeard(here, there)
    await untilHeard(there, here)
  })

  test('nodes start without it, and find it when it comes', async () => {
    await server.stop()
    const [here, there] = await nodes.pair()
    const ann = waiter(there)
    here.wake(ANN)
    await ann.until(2)
    await server.start()
    await untilHeard(here, there)
  })

  test('a node that ends then does not wait for it', async () => {
    const [here, there] = await nodes.pair()
    await untilHeard(here, there)
    await server.stop()
    here.wake(ANN)
    await nodes.close()
    await server.start()
  })
})

test('what could not be told is told as soon as it can', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  const ann = waiter(there)
  await server.run('ACL', 'SETUSER', 'default', '-spublish')
  here.wake(ANN)
  while (!String(await server.run('INFO', 'errorstats')).includes('NOPERM')) {
    await new Promise(setImmediate)
  }
  assert.equal(ann.calls(), 0)
  await server.run('ACL', 'SETUSER', 'default', '+spublish')
  await ann.until(1)
})

test('a flushed Redis carries on', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  await server.run('FLUSHALL')
  await untilHeard(here, there)
})

test('a wake that Redis sleeps over arrives when it awakes', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  const ann = waiter(there)
  const sleeping = server.run('DEBUG', 'SLEEP', '0.5')
  here.wake(ANN)
  await ann.until(1)
  await sleeping
})

test('a Redis that hangs is away, and heals', async () => {
  const [here, there] = await nodes.pair()
  await untilHeard(here, there)
  server.freeze()
  await waiter(there).until(1)
  server.unfreeze()
  await untilHeard(here, there)
})
