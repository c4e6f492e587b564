import type { MailboxId } from '../core/session.ts'
import type { Redis } from '../redis/connect.ts'
import type { Bus } from './bus.ts'

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

/** Mailboxes that share a channel. */
interface Bucket {
  waiting: Map<MailboxId, Set<() => void>>
  /** True while nothing is missed. */
  heard: boolean
  restedTurns: number
  unlisten(): void
}

const BUCKETS = 1_024
/** In the place of mailboxes: all of the bucket. */
const EVERYBODY = '*'
// A reader that polls comes back soon: its channel is kept for so many seconds.
const KEPT_TURNS = 3

/** Who waits in this thread, by bucket. */
function openBuckets(redis: Redis, node: string) {
  const buckets = new Map<number, Bucket>()

  function open(number: number): Bucket {
    const waiting: Bucket['waiting'] = new Map()
    const bucket: Bucket = { waiting, heard: false, restedTurns: 0, unlisten: () => {} }
    buckets.set(number, bucket)
    bucket.unlisten = redis.listen(channelOf(number), {
      heard(message) {
        const [from, ...mailboxes] = message.split(' ')
        if (from === node) return
        if (mailboxes[0] === EVERYBODY) callAll(bucket)
        else for (const mailbox of mailboxes) call(waiting.get(Number(mailbox) as MailboxId))
      },
      ready() {
        bucket.heard = true
        // What was told before this could not be heard.
        callAll(bucket)
      },
      lost() {
        bucket.heard = false
      },
    })
    return bucket
  }

  return {
    subscribe(mailbox: MailboxId, changed: () => void): () => void {
      const { waiting } = buckets.get(bucketOf(mailbox)) ?? open(bucketOf(mailbox))
      const there = waiting.get(mailbox) ?? new Set()
      waiting.set(mailbox, there.add(changed))
      return () => {
        there.delete(changed)
        if (there.size === 0 && waiting.get(mailbox) === there) waiting.delete(mailbox)
      }
    },
    /** Calls who waits unheard, and lets go of what nobody has waited for lately. */
    tend(isTurn: (number: number) => boolean): void {
      for (const [number, bucket] of buckets) {
        if (!isTurn(number)) continue
        bucket.restedTurns = bucket.waiting.size > 0 ? 0 : bucket.restedTurns + 1
        if (!bucket.heard) callAll(bucket)
        if (bucket.restedTurns <= KEPT_TURNS) continue
        buckets.delete(number)
        bucket.unlisten()
      }
    },
    close(): void {
      for (const bucket of buckets.values()) bucket.unlisten()
      buckets.clear()
    },
  }
}

function callAll({ waiting }: Bucket): void {
  for (const changed of [...waiting.values()]) call(changed)
}

function call(waiting: Set<() => void> | undefined): void {
  for (const changed of [...(waiting ?? [])]) changed()
}

function bucketOf(mailbox: MailboxId): number {
  return mailbox % BUCKETS
}

/** What stands in braces decides at which server of a Cluster a channel is. */
function channelOf(bucket: number): string {
  return `mayfly:news:{${bucket}}`
}
