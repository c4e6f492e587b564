import type { MailboxId } from '../core/session.ts'
import type { Redis } from '../redis/connect.ts'
import type { Bus } from './bus.ts'
import { bucketOf, channelOf, EVERYBODY, openBuckets } from './redis-buckets.ts'

interface RedisBusOptions {
  redis: Redis
  /** The bus of this node: what happens here needs no Redis. */
  near: Bus
  /** The same for all threads of this node, and of no other: near has told its news already. */
  node: string
}

// Each bucket has its turn once a second, a tenth of them at a time: those who look by themselves do not all do it at once.
const TURN_MS = 100
const TURNS = 10
const CLOSE_MS = 200

/**
 * The bus of many nodes: a message to a sharded channel for the news of a turn of the event loop. It may get lost. Whoever
 * waits for what cannot be heard is called once a second and looks by himself, and once more when it can be heard again;
 * what could not be told is made up for by waking everybody in the bucket as soon as it can.
 */
export function openRedisBus({ redis, near, node }: RedisBusOptions): Bus {
  const buckets = openBuckets(redis, node)
  let news = new Map<number, MailboxId[]>()
  const owed = new Set<number>()
  const sending = new Set<Promise<unknown>>()
  let telling: NodeJS.Immediate | undefined
  let turn = 0

  const turning = setInterval(() => {
    turn = (turn + 1) % TURNS
    for (const bucket of owed) if (bucket % TURNS === turn) publish(bucket, EVERYBODY)
    buckets.tend((bucket) => bucket % TURNS === turn)
  }, TURN_MS)

  function tell(): void {
    const told = news
    news = new Map()
    for (const [bucket, mailboxes] of told) publish(bucket, mailboxes.join(' '))
  }

  function publish(bucket: number, message: string): void {
    owed.delete(bucket)
    const channel = channelOf(bucket)
    const sent: Promise<unknown> = redis
      .send(channel, ['SPUBLISH', channel, `${node} ${message}`])
      .catch(() => owed.add(bucket))
      .finally(() => sending.delete(sent))
    sending.add(sent)
  }

  return {
    wake(mailbox) {
      near.wake(mailbox)
      if (news.size === 0) telling = setImmediate(tell)
      const bucket = bucketOf(mailbox)
      const mailboxes = news.get(bucket) ?? []
      news.set(bucket, mailboxes)
      mailboxes.push(mailbox)
    },
    subscribe(mailbox, changed) {
      const lets = [near.subscribe(mailbox, changed), buckets.subscribe(mailbox, changed)]
      return () => {
        for (const letGo of lets) letGo()
      }
    },
    async close() {
      clearInterval(turning)
      clearImmediate(telling)
      tell()
      await Promise.race([Promise.all(sending), passed(CLOSE_MS)])
      buckets.close()
      await near.close()
    },
  }
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
