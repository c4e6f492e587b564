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
  /** How often a tenth of the channels is maintained, so that polling is spread out: each channel once a second by default. */
  tickMs?: number
}

const TICKS = 10
const CLOSE_MS = 200

/**
 * The bus of several nodes: one message per sharded channel and turn of the event loop. Messages may get lost: while a channel
 * is not subscribed, its waiters are called once a second and poll, and once more when it is subscribed again; a message
 * that could not be published is replaced by one that wakes the whole channel.
 */
export function openRedisBus({ redis, local, node, tickMs = 100 }: RedisBusOptions): Bus {
  const channels = openChannels(redis, node)
  let pending = new Map<number, Topic[]>()
  const unsent = new Set<number>()
  const sending = new Set<Promise<unknown>>()
  let flushTimer: NodeJS.Immediate | undefined
  let tick = 0

  const ticking = setInterval(() => {
    tick = (tick + 1) % TICKS
    for (const channel of unsent) {
      if (channel % TICKS !== tick) continue
      unsent.delete(channel)
      publish(channel, ALL)
    }
    channels.maintain((channel) => channel % TICKS === tick)
  }, tickMs)

  function flush(): void {
    const topicsByChannel = pending
    pending = new Map()
    for (const [channel, topics] of topicsByChannel) publish(channel, topics.join(' '))
  }

  function publish(channel: number, message: string): void {
    const name = channelName(channel)
    const sent: Promise<unknown> = redis
      .send(name, ['SPUBLISH', name, `${node} ${message}`])
      .catch(() => unsent.add(channel))
      .finally(() => sending.delete(sent))
    sending.add(sent)
  }

  return {
    wake(topic) {
      local.wake(topic)
      if (pending.size === 0) flushTimer = setImmediate(flush)
      const channel = channelOf(topic)
      const topics = pending.get(channel) ?? []
      pending.set(channel, topics)
      topics.push(topic)
    },
    subscribe(topic, changed) {
      const unsubscribes = [local.subscribe(topic, changed), channels.subscribe(topic, changed)]
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe()
      }
    },
    async close() {
      clearInterval(ticking)
      clearImmediate(flushTimer)
      flush()
      await Promise.race([Promise.all(sending), sleep(CLOSE_MS)])
      channels.close()
      await local.close()
    },
  }
}

/** The topics that share a channel. */
interface Channel {
  listeners: Map<Topic, Set<() => void>>
  /** True while no message is missed. */
  isSubscribed: boolean
  idleTicks: number
  unsubscribe(): void
}

const CHANNELS = 1_024
/** In the place of topics: all of the channel. */
const ALL = '*'
// A client that polls returns soon: its channel stays subscribed for this many seconds.
const MAX_IDLE_TICKS = 3

/** The waiters of this thread, by channel. */
function openChannels(redis: Redis, node: string) {
  const channels = new Map<number, Channel>()

  function open(number: number): Channel {
    const listeners: Channel['listeners'] = new Map()
    const channel = { listeners, isSubscribed: false, idleTicks: 0, unsubscribe() {} }
    channels.set(number, channel)
    channel.unsubscribe = redis.subscribe(channelName(number), {
      message(message) {
        const [from, ...topics] = message.split(' ')
        if (from === node) return
        if (topics[0] === ALL) callAll(channel)
        else for (const topic of topics) call(listeners.get(Number(topic) as Topic))
      },
      subscribed() {
        channel.isSubscribed = true
        // Earlier messages were missed.
        callAll(channel)
      },
      unsubscribed() {
        channel.isSubscribed = false
      },
    })
    return channel
  }

  return {
    subscribe(topic: Topic, changed: () => void): () => void {
      const { listeners } = channels.get(channelOf(topic)) ?? open(channelOf(topic))
      const there = listeners.get(topic) ?? new Set()
      listeners.set(topic, there.add(changed))
      return () => {
        there.delete(changed)
        if (there.size === 0 && listeners.get(topic) === there) listeners.delete(topic)
      }
    },
    /** Calls waiters of channels that are not subscribed, and unsubscribes idle channels. */
    maintain(isDue: (number: number) => boolean): void {
      for (const [number, channel] of channels) {
        if (!isDue(number)) continue
        channel.idleTicks = channel.listeners.size > 0 ? 0 : channel.idleTicks + 1
        if (!channel.isSubscribed) callAll(channel)
        if (channel.idleTicks <= MAX_IDLE_TICKS) continue
        channels.delete(number)
        channel.unsubscribe()
      }
    },
    close(): void {
      for (const channel of channels.values()) channel.unsubscribe()
      channels.clear()
    },
  }
}

function callAll({ listeners }: Channel): void {
  for (const changed of [...listeners.values()]) call(changed)
}

function call(waiting: Set<() => void> | undefined): void {
  for (const changed of [...(waiting ?? [])]) changed()
}

function channelOf(topic: Topic): number {
  return topic % CHANNELS
}

/** The text in braces determines the Cluster slot of the channel. */
function channelName(channel: number): string {
  return `mayfly:news:{${channel}}`
}
