import { afterAll, afterEach, beforeAll, describe, test } from 'vitest'
import {
  openRedisCluster,
  type TestRedis,
  type TestRedisCluster,
} from '../../test/support/redis.ts'
import type { MailboxId } from '../core/session.ts'
import { busContract } from './bus.contract.ts'
import { ANN, openNodes, waiter, waitUntilReceived } from './testing/nodes.ts'

describe('on a Redis Cluster', () => {
  let cluster: TestRedisCluster
  const nodes = openNodes(() => cluster.url)

  beforeAll(async () => {
    cluster = await openRedisCluster()
  })
  afterEach(nodes.close)
  afterAll(() => cluster.close())

  describe('the bus of several nodes', () => busContract(nodes.pair))

  /** A mailbox whose channel is at this master. */
  async function mailboxAt(master: TestRedis): Promise<MailboxId> {
    for (let mailbox: number = ANN; ; mailbox += 1) {
      const slot = await slotOf(mailbox)
      const third = cluster.masters[Math.floor(slot / 5461)] ?? cluster.masters[2]
      if (third === master) return mailbox as MailboxId
    }
  }

  async function slotOf(mailbox: number): Promise<number> {
    const [, second] = cluster.masters
    return Number(await second.run('CLUSTER', 'KEYSLOT', `mayfly:news:{${mailbox % 1024}}`))
  }

  test('wakes arrive from every master, and from the new owner of a moved slot', async () => {
    const [here, there] = await nodes.pair()
    const [first, second, third] = cluster.masters
    for (const master of [first, second, third]) {
      await waitUntilReceived(here, there, await mailboxAt(master))
    }
    const mailbox = await mailboxAt(second)
    const ann = waiter(there, mailbox)
    await cluster.moveSlot(await slotOf(mailbox), second, third)
    await ann.until(1)
    await waitUntilReceived(here, there, mailbox)
    await waitUntilReceived(there, here, mailbox)
  })

  test('while a master is down its waiters poll, until a replica takes over', async () => {
    const [here, there] = await nodes.pair()
    const [first, , third] = cluster.masters
    const [onFirst, onThird] = [await mailboxAt(first), await mailboxAt(third)]
    await waitUntilReceived(here, there, onFirst)
    await first.stop()
    const ann = waiter(there, onFirst)
    here.wake(onFirst)
    await ann.until(2)
    await waitUntilReceived(here, there, onThird)
    const [newHere, newThere] = await nodes.pair()
    await waitUntilReceived(newHere, newThere, onThird)
    await cluster.replica.run('CLUSTER', 'FAILOVER', 'TAKEOVER')
    await waitUntilReceived(here, there, onFirst)
    await waitUntilReceived(newHere, newThere, onFirst)
    await first.start()
    await waitUntilReceived(here, there, onFirst)
  })
})
