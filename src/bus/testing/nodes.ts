import { recordingLog } from '../../../test/kit/recording-log.ts'
import type { MailboxId } from '../../mail/rules/session.ts'
import { connectRedis } from '../../redis/connect.ts'
import type { Bus } from '../bus.ts'
import { makeWaiterCounts, openMemoryBus } from '../memory.ts'
import { openRedisBus } from '../redis.ts'

export const ANN = 101 as MailboxId
/** Polled at the same time as ANN. */
export const BOB = (101 + 1_000) as MailboxId

export interface NodeOptions {
  timeoutMs?: number
  /** By default waiters poll five times a second while Redis is unavailable. */
  bus?: { tickMs?: number }
}

/** Nodes with a bus each, over one Redis. */
export function openNodes(
  url: () => string,
  { bus: busOptions = { tickMs: 20 }, ...options }: NodeOptions = {},
) {
  const opened: Bus[] = []

  /** The bus of each thread of one node. */
  async function openNode(threads = 1): Promise<[Bus, ...Bus[]]> {
    const node = `node-${crypto.randomUUID()}`
    const waiters = makeWaiterCounts()
    const open = async () => {
      const redis = await connectRedis({ url: url(), log: recordingLog().log, ...options })
      const bus = openRedisBus({ redis, local: openMemoryBus(node, waiters), node, ...busOptions })
      const close = async () => {
        await bus.close()
        redis.close()
      }
      opened.push({ ...bus, close })
      return { ...bus, close }
    }
    const others = Array.from({ length: threads - 1 }, open)
    return [await open(), ...(await Promise.all(others))]
  }

  return {
    openNode,
    async pair(): Promise<[Bus, Bus]> {
      const [[here], [there]] = [await openNode(), await openNode()]
      return [here, there]
    },
    async close() {
      for (const bus of opened.splice(0)) await bus.close()
    },
  }
}

export function waiter(bus: Bus, mailbox: MailboxId = ANN) {
  let calls = 0
  let check = () => {}
  const unsubscribe = bus.subscribe(mailbox, () => {
    calls += 1
    check()
  })
  return {
    unsubscribe,
    calls: () => calls,
    /** Resolves once the callback has been called this many times. */
    until: (count: number) =>
      new Promise<void>((resolve) => {
        check = () => {
          if (calls >= count) resolve()
        }
        check()
      }),
  }
}

/** Resolves when a wake on one node has reached only the mailbox it names on the other: polling calls both. */
export async function waitUntilReceived(from: Bus, to: Bus): Promise<void> {
  const ann = waiter(to)
  const bob = waiter(to, BOB)
  for (;;) {
    const [anns, bobs] = [ann.calls(), bob.calls()]
    from.wake(ANN)
    await ann.until(anns + 1)
    if (bob.calls() === bobs) break
  }
  // Wakes arrive in order: after this one, none of those above is still to come.
  const bobs = bob.calls()
  from.wake(BOB)
  await bob.until(bobs + 1)
  ann.unsubscribe()
  bob.unsubscribe()
}
