import type { Bus } from '../../bus/bus.ts'
import type { Topic } from '../rules/session.ts'

/** Polls of this thread: all subscribers of the same source share them. */
export interface SharedPolls<T> {
  subscribe(wanted: PollSource<T>): Subscription<T>
}

export interface PollSource<T> {
  /** Subscribers with the same key share their polls. */
  key: string
  /** The topics whose changes are worth a poll. */
  topics: readonly Topic[]
  /** Called once per key; returns what is called for each poll. The signal is aborted when the last subscriber has left. */
  open(signal: AbortSignal): () => Promise<T>
  /** Poll interval without a wake, because wakes may get lost. The first subscriber's value is used. */
  intervalMs: number
  signal: AbortSignal
}

export interface Subscription<T> {
  /**
   * The result of a poll that began after the subscription and is newer than the last one returned; undefined after `wake`.
   * Throws what the poll threw, or the signal's reason once that is aborted.
   */
  next(): Promise<T | undefined>
  /** Makes the current or next call of `next` return, without a poll. */
  wake(): void
  /** Discards what was polled so far: `next` returns the result of a poll that begins now. */
  refresh(): void
  end(): void
}

export function openSharedPolls<T>(bus: Pick<Bus, 'subscribe'>): SharedPolls<T> {
  const feeds = new Map<string, Feed<T>>()
  const schedule = openDeliveryQueue()

  return {
    subscribe(wanted) {
      const { key, signal } = wanted
      // An aborted signal never fires again.
      if (signal.aborted) return endedSubscription(signal)
      const known = feeds.get(key)
      const feed = known ?? openFeed(bus, wanted, { schedule, ended: () => feeds.delete(key) })
      if (!known) feeds.set(key, feed)
      return feed.add(signal)
    },
  }
}

/** Polls until `evaluate` returns a value. `over` is true for the last poll, which begins at the timeout. */
export async function pollUntil<T, Result>(
  polls: SharedPolls<T>,
  { seconds, ...wanted }: PollSource<T> & { seconds: number },
  evaluate: (polled: T, over: boolean) => Promise<Result | undefined>,
): Promise<Result> {
  const subscription = polls.subscribe(wanted)
  let over = false
  const timer = setTimeout(() => {
    over = true
    subscription.refresh()
  }, seconds * 1000)
  try {
    for (;;) {
      const polled = await subscription.next()
      const result = polled === undefined ? undefined : await evaluate(polled, over)
      if (result !== undefined) return result
    }
  } finally {
    clearTimeout(timer)
    subscription.end()
  }
}

type Outcome<T> = { value: T } | { error: unknown }

interface Feed<T> {
  add(signal: AbortSignal): Subscription<T>
}

interface Subscriber<T> {
  /** Only polls that began after this one are delivered. */
  after: number
  deliver(outcome: Outcome<T>): void
}

/** `ended` is called when the last subscriber has left. */
function openFeed<T>(
  bus: Pick<Bus, 'subscribe'>,
  { topics, open, intervalMs }: PollSource<T>,
  { schedule, ended }: { schedule(run: () => void): void; ended(): void },
): Feed<T> {
  const subscribers = new Set<Subscriber<T>>()
  const left = new AbortController()
  const poll = open(left.signal)
  let begun = 0
  let isDue = false
  let isRunning = false

  // A running poll may have read before the change, so another one follows.
  function request(): void {
    isDue = true
    if (isRunning) return
    isRunning = true
    queueMicrotask(run)
  }

  async function run(): Promise<void> {
    while (isDue && subscribers.size > 0) {
      isDue = false
      begun += 1
      const number = begun
      const outcome = await settled(poll)
      for (const subscriber of subscribers) {
        schedule(() => {
          if (subscriber.after < number) subscriber.deliver(outcome)
        })
      }
    }
    isRunning = false
  }

  const unsubscribes = topics.map((topic) => bus.subscribe(topic, request))
  const interval = setInterval(request, intervalMs)

  function remove(subscriber: Subscriber<T>): void {
    if (!subscribers.delete(subscriber) || subscribers.size > 0) return
    ended()
    clearInterval(interval)
    for (const unsubscribe of unsubscribes) unsubscribe()
    left.abort()
  }

  return {
    add(signal) {
      const { subscriber, ...subscription } = openSubscription<T>(signal, {
        begun: () => begun,
        request,
        remove,
      })
      subscribers.add(subscriber)
      request()
      return subscription
    },
  }
}

interface FeedLinks<T> {
  /** The number of the newest poll. */
  begun(): number
  request(): void
  remove(subscriber: Subscriber<T>): void
}

function openSubscription<T>(
  signal: AbortSignal,
  { begun, request, remove }: FeedLinks<T>,
): Subscription<T> & { subscriber: Subscriber<T> } {
  let pending: Outcome<T> | undefined
  let isWoken = false
  let resume: (() => void) | undefined

  const subscriber: Subscriber<T> = {
    after: begun(),
    deliver(outcome) {
      pending = outcome
      resume?.()
    },
  }
  const wake = () => {
    isWoken = true
    resume?.()
  }
  const end = () => {
    remove(subscriber)
    signal.removeEventListener('abort', end)
    wake()
  }
  signal.addEventListener('abort', end)
  return {
    subscriber,
    wake,
    end,
    refresh() {
      subscriber.after = begun()
      pending = undefined
      request()
    },
    async next() {
      if (!pending && !isWoken) {
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      }
      signal.throwIfAborted()
      const outcome = pending
      pending = undefined
      isWoken = false
      resume = undefined
      if (outcome && 'error' in outcome) throw outcome.error
      return outcome?.value
    },
  }
}

function endedSubscription(signal: AbortSignal): Subscription<never> {
  return {
    async next() {
      throw signal.reason
    },
    wake() {},
    refresh() {},
    end() {},
  }
}

async function settled<T>(poll: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await poll() }
  } catch (error) {
    return { error }
  }
}

const DELIVERIES_PER_TICK = 16

/** Delivers a few per turn of the event loop, so that other requests are served in between. */
function openDeliveryQueue(): (run: () => void) => void {
  const queue: (() => void)[] = []
  let count = 0

  function runNext(): void {
    const some = queue.splice(0, DELIVERIES_PER_TICK)
    count = some.length
    if (count > 0) setImmediate(runNext)
    for (const run of some) run()
  }

  return (run) => {
    if (count === DELIVERIES_PER_TICK) {
      queue.push(run)
      return
    }
    if (count === 0) setImmediate(runNext)
    count += 1
    run()
  }
}
