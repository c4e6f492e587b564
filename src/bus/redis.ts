import { withTimeout } from '../base/jobs/repeat.ts'
import type { Topic } from '../mail/rules/session.ts'
import type { Redis } from '../redis/connect.ts'
import type { Bus } from './bus.ts'
import type { MemoryBus } from './memory.ts'

interface RedisBusOptions {
  redis: Redis
  /** The bus of this node, which needs no Redis. */
  local: MemoryBus
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
  let pending = new Set<Topic>()
  let hasUnsent = false
  let isListening = false
  /** True while no message is missed. */
  let isSubscribed = false
  const sending = new Set<Promise<unknown>>()
  let flushTimer: NodeJS.Immediate | undefined
  let tick = 0

  const ticking = setInterval(() => {
    tick = (tick + 1) % TICKS
    if (hasUnsent && tick === 0) {
      hasUnsent = false
      publish(ALL)
    }
    if (!isSubscribed) local.notify(local.topics().filter((topic) => topic % TICKS === tick))
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

  function listen(): void {
    isListening = true
    redis.subscribe(CHANNEL, {
      message(message) {
        const [from, ...topics] = message.split(' ')
        if (from === node) return
        local.notify(topics[0] === ALL ? local.topics() : topics.map((one) => Number(one) as Topic))
      },
      subscribed() {
        isSubscribed = true
        // Earlier messages were missed.
        local.notify(local.topics())
      },
      unsubscribed() {
        isSubscribed = false
      },
    })
  }

  return {
    wake(topic) {
      local.wake(topic)
      if (pending.size === 0) flushTimer = setImmediate(flush)
      pending.add(topic)
    },
    subscribe(topic, changed) {
      // A thread without any waiters, such as one of SMTP, does not listen.
      if (!isListening) listen()
      return local.subscribe(topic, changed)
    },
    async close() {
      clearInterval(ticking)
      clearImmediate(flushTimer)
      flush()
      await withTimeout(CLOSE_MS, Promise.all(sending))
      await local.close()
    },
  }
}
