import assert from 'node:assert/strict'
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest'
import { openRedisCluster, type TestRedisCluster } from '../../test/support/redis.ts'
import { limitContract } from './limit.contract.ts'
import { countPassed, openNodes, untilShared } from './testing/nodes.ts'

describe('on a Redis Cluster', () => {
  let cluster: TestRedisCluster
  const nodes = openNodes(() => cluster.url)

  beforeAll(async () => {
    cluster = await openRedisCluster()
  })
  beforeEach(async () => {
    for (const master of cluster.masters) await master.run('FLUSHALL', 'SYNC')
  })
  afterEach(nodes.close)
  afterAll(() => cluster.close())

  describe('rates of several nodes', () => limitContract(nodes.pair))

  test('keys are spread over all masters and counted together', async () => {
    const [here, there] = await nodes.pair()
    for (let key = 0; key < 50; key += 1) {
      assert.equal(await countPassed(here, 2, `key ${key}`), 2)
      assert.equal(await countPassed(there, 2, `key ${key}`), 1)
    }
    for (const master of cluster.masters) assert.ok(Number(await master.run('DBSIZE')) > 5)
  })

  test('while a master is down its keys get a burst per node, until a replica takes over', async () => {
    const [here, there] = await nodes.pair()
    const [first] = cluster.masters
    await first.stop()
    let shared = 0
    for (let key = 0; key < 50; key += 1) {
      assert.equal(await countPassed(here, 5, `key ${key}`), 3)
      if ((await countPassed(there, 1, `key ${key}`)) === 0) shared += 1
    }
    assert.ok(shared > 10 && shared < 50, `${shared}`)
    await cluster.replica.run('CLUSTER', 'FAILOVER', 'TAKEOVER')
    for (let round = 0; round < 20; round += 1) await untilShared(here, there)
    await first.start()
    for (let round = 0; round < 20; round += 1) await untilShared(here, there)
  })
})
