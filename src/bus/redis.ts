import type { MailboxId } from '../core/session.ts'
import type { Redis } from '../redis/connect.ts'
import type { Bus } from './bus.ts'

interface RedisBusOptions {
  redis: Redis
  /** The bus of this node: what happens here needs no Redis. */
  local: Bus
  /** The same for all threads of this node, and of no other: near has told its news already. */
  node: string
}

// Each bucket has its turn once a second, a tenth of them at a time: those who look by themselves do not all do it at once.
const TICK_MS = 100
const TICKS = 10
const CLOSE_MS = 200

/**
 * The bus of many nodes: a message to a sharded channel for the news of a turn of the event loop. It may get lost. Whoever
 * waits for what cannot be heard is called once a second and looks by himself, and once more when it can be heard again;
 * what could not be told is made up for by waking everybody in the bucket as soon as it can.
 */
export function openRedisBus({ redis, local, node }: RedisBusOptions): Bus {
  const buckets = openBuckets(redis, node)
  let pending = new Map<number, MailboxId[]>()
  const unsent = new Set<number>()
  const sending = new Set<Promise<unknown>>()
  let flushTimer: NodeJS.Immediate | undefined
  let tick = 0

  const ticking = setInterval(() => {
    tick = (tick + 1) % TICKS
    for (const bucket of unsent) if (bucket % TICKS === tick) publish(bucket, ALL)
    buckets.tend((bucket) => bucket % TICKS === tick)
  }, TICK_MS)

  function flush(): void {
    const told = pending
    pending = new Map()
    for (const [bucket, mailboxes] of told) publish(bucket, mailboxes.join(' '))
  }

  function publish(bucket: number, message: string): void {
    unsent.delete(bucket)
    const channel = channelOf(bucket)
    const sent: Promise<unknown> = redis
      .send(channel, ['SPUBLISH', channel, `${node} ${message}`])
      .catch(() => unsent.add(bucket))
      .finally(() => sending.delete(sent))
    sending.add(sent)
  }

  return {
    wake(mailbox) {
      local.wake(mailbox)
      if (pending.size === 0) flushTimer = setImmediate(flush)
      const bucket = bucketOf(mailbox)
      const mailboxes = pending.get(bucket) ?? []
      pending.set(bucket, mailboxes)
      mailboxes.push(mailbox)
    },
    subscribe(mailbox, changed) {
      const lets = [local.subscribe(mailbox, changed), buckets.subscribe(mailbox, changed)]
      return () => {
        for (const letGo of lets) letGo()
      }
    },
    async close() {
      clearInterval(ticking)
      clearImmediate(flushTimer)
      flush()
      await Promise.race([Promise.all(sending), delay(CLOSE_MS)])
      buckets.close()
      await local.close()
    },
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** Mailboxes that share a channel. */
interface Bucket {
  listeners: Map<MailboxId, Set<() => void>>
  /** True while nothing is missed. */
  isSubscribed: boolean
  idleTicks: number
  unsubscribe(): void
}

const BUCKETS = 1_024
/** In the place of mailboxes: all of the bucket. */
const ALL = '*'
// A reader that polls comes back soon: its channel is kept for so many seconds.
const MAX_IDLE_TICKS = 3

/** Who waits in this thread, by bucket. */
function openBuckets(redis: Redis, node: string) {
  const buckets = new Map<number, Bucket>()

  function open(number: number): Bucket {
    const waiting: Bucket['listeners'] = new Map()
    const bucket: Bucket = {
      listeners: waiting,
      isSubscribed: false,
      idleTicks: 0,
      unsubscribe: () => {},
    }
    buckets.set(number, bucket)
    bucket.unsubscribe = redis.subscribe(channelOf(number), {
      message(message) {
        const [from, ...mailboxes] = message.split(' ')
        if (from === node) return
        if (mailboxes[0] === ALL) callAll(bucket)
        else for (const mailbox of mailboxes) call(waiting.get(Number(mailbox) as MailboxId))
      },
      subscribed() {
        bucket.isSubscribed = true
        // What was told before this could not be heard.
        callAll(bucket)
      },
      unsubscribed() {
        bucket.isSubscribed = false
      },
    })
    return bucket
  }

  return {
    subscribe(mailbox: MailboxId, changed: () => void): () => void {
      const { listeners } = buckets.get(bucketOf(mailbox)) ?? open(bucketOf(mailbox))
      const there = listeners.get(mailbox) ?? new Set()
      listeners.set(mailbox, there.add(changed))
      return () => {
        there.delete(changed)
        if (there.size === 0 && listeners.get(mailbox) === there) listeners.delete(mailbox)
      }
    },
    /** Calls who waits unheard, and lets go of what nobody has waited for lately. */
    tend(isTurn: (number: number) => boolean): void {
      for (const [number, bucket] of buckets) {
        if (!isTurn(number)) continue
        bucket.idleTicks = bucket.listeners.size > 0 ? 0 : bucket.idleTicks + 1
        if (!bucket.isSubscribed) callAll(bucket)
        if (bucket.idleTicks <= MAX_IDLE_TICKS) continue
        buckets.delete(number)
        bucket.unsubscribe()
      }
    },
    close(): void {
      for (const bucket of buckets.values()) bucket.unsubscribe()
      buckets.clear()
    },
  }
}

function callAll({ listeners }: Bucket): void {
  for (const changed of [...listeners.values()]) call(changed)
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
