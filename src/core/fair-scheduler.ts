import { type Owner, openFairQueue, overloaded, type Ticket } from './fair-queue.ts'
import { Problem } from './problem.ts'

/** On whose behalf a job is done. */
export interface JobRequest {
  owner: Owner
  /** Nobody waits for it: it lets the others go first, but for a small share, and leaves them a slot. */
  background?: boolean
  /** Aborted when the result is no longer of use: a job that nobody waits for and that has not started is dropped. */
  signal?: AbortSignal | undefined
}

/** A job that was started. */
export interface Running<T> {
  result: Promise<T>
  /** What it has cost, in milliseconds; resolves when its slot is free again, and never rejects. */
  cost: Promise<number>
}

export interface SchedulerOptions {
  /** How many jobs run at once. */
  slots: number
  /** How many requests may wait, in all and for one key of an owner. */
  maxWaiting: number
  maxWaitingPerKey: number
  /** The sentence with which a request is refused when too many wait. */
  refusal: string
}

interface FairScheduler {
  /**
   * Starts the job when it is its owner's turn. Requests for the same key share one run; it starts when it is the turn of any of
   * them. Rejects with what the job rejects with, with the signal's reason, with `overloaded` when too many wait, and with
   * `shutting_down` when the scheduler is closed.
   */
  run<T>(key: unknown, request: JobRequest, start: () => Running<T>): Promise<T>
  /** Whoever waits hears of it. What runs goes on. */
  close(): void
}

interface Shared {
  key: unknown
  start(): Running<unknown>
  waiters: Set<Waiter>
  started: boolean
}

interface Waiter {
  shared: Shared
  ticket: Ticket<Waiter> | undefined
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** Even the shortest job counts. */
const MIN_COST_MS = 1

export function openScheduler({
  slots,
  maxWaiting,
  maxWaitingPerKey,
  refusal,
}: SchedulerOptions): FairScheduler {
  const jobs = new Map<unknown, Shared>()
  // One owner never occupies all slots, nor do background jobs: the next request of somebody else finds one free.
  const most = Math.max(1, slots - 1)
  const queue = openFairQueue<Waiter>(
    { waiting: maxWaiting, waitingPerKey: maxWaitingPerKey, runningPerKey: most, refusal },
    (waiter) => leave(waiter, overloaded(refusal)),
  )
  let [busy, busyBackground] = [0, 0]
  let closed = false

  function next(): void {
    while (!closed && busy < slots) {
      const ticket = queue.take({ background: busyBackground < most })
      if (!ticket) return
      void serve(ticket)
    }
  }

  async function serve(ticket: Ticket<Waiter>): Promise<void> {
    const { shared } = ticket.item
    shared.started = true
    // From now on the others wait for the same run.
    for (const { ticket: other } of shared.waiters) if (other) queue.remove(other)
    busy += 1
    if (ticket.background) busyBackground += 1
    const { result, cost } = shared.start()
    const [outcome] = await Promise.allSettled([result])
    jobs.delete(shared.key)
    settleWaiters(shared, outcome)
    const costMs = await cost
    busy -= 1
    if (ticket.background) busyBackground -= 1
    queue.done(ticket, Math.max(costMs, MIN_COST_MS))
    next()
  }

  function leave(waiter: Waiter, error: unknown): void {
    const { shared, ticket } = waiter
    shared.waiters.delete(waiter)
    if (ticket) queue.remove(ticket)
    if (shared.waiters.size === 0 && !shared.started) jobs.delete(shared.key)
    waiter.reject(error)
  }

  return {
    async run<T>(key: unknown, request: JobRequest, start: () => Running<T>): Promise<T> {
      if (closed) throw shuttingDown()
      const { owner, background = false, signal } = request
      signal?.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const shared = jobs.get(key) ?? { key, start, waiters: new Set(), started: false }
      const done = (result: unknown) => resolve(result as T)
      const waiter: Waiter = { shared, ticket: undefined, resolve: done, reject }
      if (!shared.started) waiter.ticket = queue.add(waiter, { owner, background })
      shared.waiters.add(waiter)
      jobs.set(key, shared)
      next()
      const abort = () => leave(waiter, signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      return await promise.finally(() => signal?.removeEventListener('abort', abort))
    },
    close() {
      closed = true
      queue.clear()
      for (const { waiters } of jobs.values()) {
        for (const { reject } of waiters) reject(shuttingDown())
      }
    },
  }
}

function settleWaiters({ waiters }: Shared, outcome: PromiseSettledResult<unknown>): void {
  for (const { resolve, reject } of waiters) {
    if (outcome.status === 'fulfilled') resolve(outcome.value)
    else reject(outcome.reason)
  }
}

export function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The service is stopping.', 1)
}
