import { type Owner, openFairQueue, overloaded, type Ticket } from './fair-queue.ts'
import { Problem } from './problem.ts'

export interface JobRequest {
  owner: Owner
  /** Nobody waits for it: it yields to the others, except for a small share, and leaves them a slot. */
  background?: boolean
  /** Aborted when the result is no longer needed; a job that has not started and has no other waiter is dropped. */
  signal?: AbortSignal | undefined
}

export interface Running<T> {
  result: Promise<T>
  /** Its cost in milliseconds; resolves when its slot is free again, and never rejects. */
  cost: Promise<number>
}

export interface SchedulerOptions {
  slots: number
  /** Maximum waiting requests, in total and per key of an owner. */
  maxWaiting: number
  maxWaitingPerKey: number
  overloadMessage: string
}

interface FairScheduler {
  /**
   * Starts the job when it is its owner's turn. Requests for the same key share one run, which starts at the first turn of any
   * of them. Rejects with the error of the job, the signal's reason, `overloaded` if too many wait, or `shutting_down` when
   * the scheduler is closed.
   */
  run<T>(key: unknown, request: JobRequest, start: () => Running<T>): Promise<T>
  /** Jobs that have not started; requests for the same key are one. */
  waiting(): number
  /** Rejects waiting requests. Running jobs continue. */
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

const MIN_COST_MS = 1

export function openScheduler({
  slots,
  maxWaiting,
  maxWaitingPerKey,
  overloadMessage,
}: SchedulerOptions): FairScheduler {
  const jobs = new Map<unknown, Shared>()
  // Neither one owner nor background jobs may occupy all slots, so another owner's request finds one free.
  const most = Math.max(1, slots - 1)
  const queue = openFairQueue<Waiter>(
    { waiting: maxWaiting, waitingPerKey: maxWaitingPerKey, runningPerKey: most, overloadMessage },
    (waiter) => leave(waiter, overloaded(overloadMessage)),
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
    // The other waiters share this run.
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
    waiting: () => jobs.values().reduce((sum, { started }) => sum + (started ? 0 : 1), 0),
    close() {
      closed = true
      queue.clear()
      for (const shared of jobs.values()) settleWaiters(shared, rejection())
    },
  }
}

function settleWaiters({ waiters }: Shared, outcome: PromiseSettledResult<unknown>): void {
  for (const { resolve, reject } of waiters) {
    if (outcome.status === 'fulfilled') resolve(outcome.value)
    else reject(outcome.reason)
  }
}

const rejection = () => ({ status: 'rejected', reason: shuttingDown() }) as const

export function shuttingDown(): Problem {
  return new Problem('shutting_down', 'The service is shutting down.', 1)
}
