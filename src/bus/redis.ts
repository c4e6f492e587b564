import { setTimeout as sleep } from 'node:timers/promises'
import type { Topic } from '../mail/rules/session.ts'
import type { Redis } from '../redis/connect.ts'
import type { Bus } from './bus.ts'

interface RedisBusOptions {
  redis: Redis
  /** The bus of this node, which needs no Redis. */
  local: Bus
  /** Id of this node, the same for all its threads: messages of its own are ignored, since `local` has delivered them. */
  node: string
  /** While not subscribed, how often a tenth of the waiters is called, so that polling is spread out. */
  tickMs?: number
}

const CHANNEL = 'mayfly:wakes'
/** In the place of topics: all. */
const ALL = '*'
const TICKS = 10
const CLOSE_MS = 200

/**
 * The bus of several nodes: one message per turn of the event loop, on one channel. Messages may get lost: while the channel is
 * not subscribed, waiters are called once a second and poll, and once more when it is subscribed again; messages that could not
 * be published are replaced by one that wakes everybody.
 */
export function openRedisBus({ redis, local, node, tickMs = 100 }: RedisBusOptions): Bus {
  const waiters = openWaiters(redis, node)
  let pending = new Set<Topic>()
  let hasUnsent = false
  const sending = new Set<Promise<unknown>>()
  let flushTimer: NodeJS.Immediate | undefined
  let tick = 0

  const ticking = setInterval(() => {
    tick = (tick + 1) % TICKS
    if (hasUnsent && tick === 0) {
      hasUnsent = false
      publish(ALL)
    }
    waiters.poll((topic) => topic % TICKS === tick)
  }, tickMs)

  function flush(): void {
    if (pending.size > 0) publish([...pending].join(' '))
    pending = new Set()
  }

  function publish(message: string): void {
    const sent: Promise<unknown> = redis
      .send(['PUBLISH', CHANNEL, `${node} ${message}`])
      .catch(() => {
        hasUnsent = true
      })
      .finally(() => sending.delete(sent))
    sending.add(sent)
  }

  return {
    wake(topic) {
      local.wake(topic)
      if (pending.size === 0) flushTimer = setImmediate(flush)
      pending.add(topic)
    },
    subscribe(topic, changed) {
      const unsubscribes = [local.subscribe(topic, changed), waiters.add(topic, changed)]
      return () => {
        for (const unsubscribe of unsubscribes) unsubscribe()
      }
    },
    async close() {
      clearInterval(ticking)
      clearImmediate(flushTimer)
      flush()
      await Promise.race([Promise.all(sending), sleep(CLOSE_MS)])
      waiters.clear()
      await local.close()
    },
  }
}

/** The waiters of this thread. A thread without any, such as one of SMTP, does not subscribe. */
function openWaiters(redis: Redis, node: string) {
  const waiters = new Map<Topic, Set<() => void>>()
  let isListening = false
  /** True while no message is missed. */
  let isSubscribed = false

  function listen(): void {
    isListening = true
    redis.subscribe(CHANNEL, {
      message(message) {
        const [from, ...topics] = message.split(' ')
        if (from === node) return
        if (topics[0] === ALL) callAll()
        else for (const topic of topics) call(waiters.get(Number(topic) as Topic))
      },
      subscribed() {
        isSubscribed = true
        // Earlier messages were missed.
        callAll()
      },
      unsubscribed() {
        isSubscribed = false
      },
    })
  }

  function callAll(isWanted: (topic: Topic) => boolean = () => true): void {
    for (const topic of [...waiters.keys()]) if (isWanted(topic)) call(waiters.get(topic))
  }

  return {
    add(topic: Topic, changed: () => void): () => void {
      if (!isListening) listen()
      const waiting = waiters.get(topic) ?? new Set()
      waiters.set(topic, waiting.add(changed))
      return () => {
        waiting.delete(changed)
        if (waiting.size === 0 && waiters.get(topic) === waiting) waiters.delete(topic)
      }
    },
    /** Calls these waiters, unless messages arrive. */
    poll(isDue: (topic: Topic) => boolean): void {
      if (!isSubscribed) callAll(isDue)
    },
    clear: () => waiters.clear(),
  }
}

function call(waiting: Set<() => void> | undefined): void {
  for (const changed of [...(waiting ?? [])]) changed()
}
