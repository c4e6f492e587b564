import { setTimeout as sleep } from 'node:timers/promises'
import type { Topic } from '../core/session.ts'
import type { Redis } from '../redis/connect.ts'
import type { Bus } from './bus.ts'

interface RedisBusOptions {
  redis: Redis
  /** The bus of this node, which needs no Redis. */
  local: Bus
  /** Id of this node, the same for all its threads: messages of its own are ignored, since `local` has delivered them. */
  node: string
}

// Each bucket is maintained once a second, a tenth of them per tick, so that polling is spread out.
const TICK_MS = 100
const TICKS = 10
const CLOSE_MS = 200

/**
 * The bus of several nodes: one message per sharded channel and turn of the event loop. Messages may get lost: while a channel
 * is not subscribed, its waiters are called once a second and poll, and once more when it is subscribed again; a message
 * that could not be published is replaced by one that wakes the whole bucket.
 */
export function openRedisBus({ redis, local, node }: RedisBusOptions): Bus {
  const buckets = openBuckets(redis, node)
  let pending = new Map<number, Topic[]>()
  const unsent = new Set<number>()
  const sending = new Set<Promise<unknown>>()
  let flushTimer: NodeJS.Immediate | undefined
  let tick = 0

  const ticking = setInterval(() => {
    tick = (tick + 1) % TICKS
    for (const bucket of unsent) if (bucket % TICKS === tick) publish(bucket, ALL)
    buckets.maintain((bucket) => bucket % TICKS === tick)
  }, TICK_MS)

  function flush(): void {
    const topicsByBucket = pending
    pending = new Map()
    for (const [bucket, topics] of topicsByBucket) publish(bucket, topics.join(' '))
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
    wake(topic) {
      local.wake(topic)
      if (pending.size === 0) flushTimer = setImmediate(flush)
      const bucket = bucketOf(topic)
      const topics = pending.get(bucket) ?? []
      pending.set(bucket, topics)
      topics.push(topic)
    },
    subscribe(topic, changed) {
      const unsubscribes = [local.subscribe(topic, changed), buckets.subscribe(topic, changed)]
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe()
      }
    },
    async close() {
      clearInterval(ticking)
      clearImmediate(flushTimer)
      flush()
      await Promise.race([Promise.all(sending), sleep(CLOSE_MS)])
      buckets.close()
      await local.close()
    },
  }
}

/** The topics that share a channel. */
interface Bucket {
  listeners: Map<Topic, Set<() => void>>
  /** True while no message is missed. */
  isSubscribed: boolean
  idleTicks: number
  unsubscribe(): void
}

const BUCKETS = 1_024
/** In the place of topics: all of the bucket. */
const ALL = '*'
// A client that polls returns soon: its channel stays subscribed for this many seconds.
const MAX_IDLE_TICKS = 3

/** The waiters of this thread, by bucket. */
function openBuckets(redis: Redis, node: string) {
  const buckets = new Map<number, Bucket>()

  function open(number: number): Bucket {
    const listeners: Bucket['listeners'] = new Map()
    const bucket = { listeners, isSubscribed: false, idleTicks: 0, unsubscribe() {} }
    buckets.set(number, bucket)
    bucket.unsubscribe = redis.subscribe(channelOf(number), {
      message(message) {
        const [from, ...topics] = message.split(' ')
        if (from === node) return
        if (topics[0] === ALL) callAll(bucket)
        else for (const topic of topics) call(listeners.get(Number(topic) as Topic))
      },
      subscribed() {
        bucket.isSubscribed = true
        // Earlier messages were missed.
        callAll(bucket)
      },
      unsubscribed() {
        bucket.isSubscribed = false
      },
    })
    return bucket
  }

  return {
    subscribe(topic: Topic, changed: () => void): () => void {
      const { listeners } = buckets.get(bucketOf(topic)) ?? open(bucketOf(topic))
      const there = listeners.get(topic) ?? new Set()
      listeners.set(topic, there.add(changed))
      return () => {
        there.delete(changed)
        if (there.size === 0 && listeners.get(topic) === there) listeners.delete(topic)
      }
    },
    /** Calls waiters of channels that are not subscribed, and unsubscribes idle channels. */
    maintain(isDue: (number: number) => boolean): void {
      for (const [number, bucket] of buckets) {
        if (!isDue(number)) continue
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

function bucketOf(topic: Topic): number {
  return topic % BUCKETS
}

/** The text in braces determines the Cluster slot of the channel. */
function channelOf(bucket: number): string {
  return `mayfly:news:{${bucket}}`
}
