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
  /** `throwIfLeft`, called before each read, throws if no subscriber is left. */
  poll(throwIfLeft: () => void): Promise<T>
  /** Poll interval without a wake, because wakes may get lost. The first subscriber's value is used. */
  intervalMs: number
  signal: AbortSignal
}

export interface Subscription<T> {
  /**
   * The result of a poll that began after the subscription and is newer than the last one returned; undefined after this time.
   * Throws what the poll threw, or the signal's reason once that is aborted.
   */
  next(timeoutMs: number): Promise<T | undefined>
  end(): void
}

export function openSharedPolls<T>(bus: Pick<Bus, 'subscribe'>): SharedPolls<T> {
  const feeds = new Map<string, Feed<T>>()
  const schedule = openDeliveryQueue()

  return {
    subscribe(wanted) {
      const { key, signal } = wanted
      if (signal.aborted) return singlePoll(wanted)
      const feed = feeds.get(key) ?? openFeed(bus, wanted, schedule)
      feeds.set(key, feed)
      const { deliver, next } = openInbox<T>(signal)
      const end = () => {
        signal.removeEventListener('abort', end)
        if (feed.remove(deliver)) feeds.delete(key)
        deliver(undefined)
      }
      signal.addEventListener('abort', end)
      feed.add(deliver)
      return { next, end }
    },
  }
}

/** Polls until `evaluate` returns a value. `over` is true for the last poll, which begins at the timeout. */
export async function pollUntil<T, Result>(
  polls: SharedPolls<T>,
  { seconds, ...wanted }: PollSource<T> & { seconds: number },
  evaluate: (polled: T, over: boolean) => Promise<Result | undefined>,
): Promise<Result> {
  const until = performance.now() + seconds * 1000
  const subscription = polls.subscribe(wanted)
  try {
    for (;;) {
      const leftMs = until - performance.now()
      const polled = leftMs > 0 ? await subscription.next(leftMs) : undefined
      const last = () => wanted.poll(() => wanted.signal.throwIfAborted())
      const result = await evaluate(polled ?? (await last()), polled === undefined)
      if (result !== undefined) return result
    }
  } finally {
    subscription.end()
  }
}

/** During shutdown, a client still learns once what it missed. */
function singlePoll<T>({ poll, signal }: PollSource<T>): Subscription<T> {
  let isDone = false
  return {
    async next() {
      if (isDone) throw signal.reason
      isDone = true
      return await poll(() => {})
    },
    end() {},
  }
}

/** Takes the settled result of a poll; undefined: the subscription has ended. */
type Deliver<T> = (result: Promise<T> | undefined) => void

interface Feed<T> {
  /** Polls for the new subscriber. */
  add(deliver: Deliver<T>): void
  /** True if it was the last one: the feed has ended. */
  remove(deliver: Deliver<T>): boolean
}

function openFeed<T>(
  bus: Pick<Bus, 'subscribe'>,
  { topics, poll, intervalMs }: PollSource<T>,
  schedule: (deliver: () => void) => void,
): Feed<T> {
  const subscribers = new Set<Deliver<T>>()
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
      // A subscriber that joins during a poll gets the next one.
      const waiting = [...subscribers]
      const result = poll(throwIfLeft)
      await result.catch(() => {})
      for (const deliver of waiting) schedule(() => deliver(result))
    }
    isRunning = false
  }

  function throwIfLeft(): void {
    if (subscribers.size === 0) throw new Error('all subscribers have left')
  }

  const unsubscribes = topics.map((topic) => bus.subscribe(topic, request))
  const interval = setInterval(request, intervalMs)

  return {
    add(deliver) {
      subscribers.add(deliver)
      request()
    },
    remove(deliver) {
      if (!subscribers.delete(deliver) || subscribers.size > 0) return false
      clearInterval(interval)
      for (const unsubscribe of unsubscribes) unsubscribe()
      return true
    },
  }
}

/** Keeps the newest result until it is asked for. */
function openInbox<T>(
  signal: AbortSignal,
): { deliver: Deliver<T> } & Pick<Subscription<T>, 'next'> {
  let newest: Promise<T> | undefined
  let resume: (() => void) | undefined

  return {
    deliver(result) {
      newest = result
      resume?.()
    },
    async next(timeoutMs) {
      signal.throwIfAborted()
      if (!newest) {
        const { promise, resolve } = Promise.withResolvers<void>()
        resume = resolve
        const timer = setTimeout(resolve, timeoutMs)
        await promise
        clearTimeout(timer)
        signal.throwIfAborted()
      }
      const result = newest
      newest = undefined
      return await result
    },
  }
}

const DELIVERIES_PER_TURN = 16

/** Delivers a few per turn of the event loop, so that other requests are served in between. */
function openDeliveryQueue(): (deliver: () => void) => void {
  const queue: (() => void)[] = []

  function run(): void {
    for (const deliver of queue.splice(0, DELIVERIES_PER_TURN)) deliver()
    if (queue.length > 0) setImmediate(run)
  }

  return (deliver) => {
    if (queue.push(deliver) === 1) setImmediate(run)
  }
}
