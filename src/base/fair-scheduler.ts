import {
  accountOf,
  charge,
  dequeue,
  type Entry,
  enqueue,
  entryToDrop,
  openQueue,
  overloaded,
  type SchedulerOptions,
  take,
} from './fair-queue.ts'
import { shuttingDown } from './problem.ts'

/**
 * On whose behalf a job runs, as keys such as a client and a mailbox. Fairness and limits apply to each key: a client with
 * many mailboxes and a mailbox with many clients both get one share.
 */
type Owner = readonly string[]

export interface JobRequest {
  owner: Owner
  /** Nobody waits for it: it yields to the others, except for a small share, and leaves them a slot. */
  background?: boolean
  /** Order of the jobs of one owner, lowest first; default: order of arrival. */
  rank?: number
  /** Aborted when the result is no longer needed; a job that has not started and has no other waiter is dropped. */
  signal?: AbortSignal | undefined
}

export interface Running<T> {
  result: Promise<T>
  /** Its cost in milliseconds; resolves when its slot is free again, and never rejects. */
  cost: Promise<number>
}

interface FairScheduler {
  /**
   * Starts the job when it is its owner's turn. Requests for the same key share one run, which starts at the first turn of any
   * of them. Throws `overloaded` if too many wait, and `shutting_down` when the scheduler is closed. Rejects with the error
   * of the job, the signal's reason, `shutting_down`, or `overloaded` if it is dropped in favour of an owner with fewer jobs.
   */
  run<T>(key: unknown, request: JobRequest, start: () => Running<T>): Promise<T>
  /** Jobs that have not started; requests for the same key are one. */
  waiting(): number
  /** Rejects waiting requests. Running jobs continue. */
  close(): void
}

/**
 * Start-time fair queueing by actual cost (milliseconds of CPU), not by number of jobs: a hostile mail costs 500 times as much
 * as an ordinary one, so round robin would give its reader 500 times the share. The cost is known only afterwards and is
 * charged when a job ends. Neither one owner nor background jobs may occupy all slots, which bounds how far an owner can
 * overdraw, and another owner's request finds one free.
 */
export function openScheduler(options: SchedulerOptions): FairScheduler {
  const jobs = new Map<unknown, Job>()
  const queue = openQueue<Request>(options)
  let closed = false

  function startNext(): void {
    while (!closed) {
      const request = take(queue)
      if (!request) return
      void serve(request)
    }
  }

  async function serve(request: Request): Promise<void> {
    const { job } = request
    job.isStarted = true
    // The other requests share this run.
    for (const other of job.requests) dequeue(queue, other)
    const running = Promise.try(() => job.start())
    const [outcome] = await Promise.allSettled([running.then(({ result }) => result)])
    jobs.delete(job.key)
    settle(job, outcome)
    const cost = running.then(
      (started) => started.cost,
      () => 0,
    )
    charge(queue, request, await cost)
    startNext()
  }

  function leave(request: Request, error: unknown): void {
    const { job } = request
    job.requests.delete(request)
    dequeue(queue, request)
    if (job.requests.size === 0 && !job.isStarted) jobs.delete(job.key)
    request.reject(error)
  }

  return {
    run<T>(key: unknown, wanted: JobRequest, start: () => Running<T>) {
      const { owner, background = false, rank = 0, signal } = wanted
      if (closed) throw shuttingDown()
      signal?.throwIfAborted()
      const job = jobs.get(key) ?? { key, start, requests: new Set(), isStarted: false }
      const { promise, resolve, reject } = Promise.withResolvers<T>()
      const done = (result: unknown) => resolve(result as T)
      const accounts = owner.map((name) => accountOf(queue, name))
      const request: Request = {
        ...{ owner: owner.join('\n'), accounts, background, rank },
        ...{ arrival: 0, start: 0, isAhead: false, job, resolve: done, reject },
      }
      const dropped = job.isStarted || background ? undefined : entryToDrop(queue, request)
      if (dropped) leave(dropped, overloaded(options))
      if (!job.isStarted) enqueue(queue, request)
      job.requests.add(request)
      jobs.set(key, job)
      startNext()
      const abort = () => leave(request, signal?.reason)
      signal?.addEventListener('abort', abort, { once: true })
      return promise.finally(() => signal?.removeEventListener('abort', abort))
    },
    waiting: () => jobs.values().reduce((sum, { isStarted }) => sum + (isStarted ? 0 : 1), 0),
    close() {
      closed = true
      for (const job of jobs.values()) settle(job, { status: 'rejected', reason: shuttingDown() })
    },
  }
}

interface Job {
  key: unknown
  start(): Running<unknown>
  requests: Set<Request>
  isStarted: boolean
}

interface Request extends Entry {
  job: Job
  resolve(result: unknown): void
  reject(error: unknown): void
}

function settle({ requests }: Job, outcome: PromiseSettledResult<unknown>): void {
  for (const { resolve, reject } of requests) {
    if (outcome.status === 'fulfilled') resolve(outcome.value)
    else reject(outcome.reason)
  }
}

/** A job whose cost is the time that it takes. */
export function timed<T>(task: () => Promise<T>): Running<T> {
  const startedAt = performance.now()
  const result = Promise.try(task)
  const elapsedMs = () => performance.now() - startedAt
  return { result, cost: result.then(elapsedMs, elapsedMs) }
}
