import { type FairQueueLimits, openFairQueue, type Ticket } from '../../base/fair-queue.ts'
import { Problem, StoreUnavailable } from '../../base/problem.ts'
import { type Backoff, backoffDelay } from '../../base/time.ts'
import type { MailboxId } from '../rules/session.ts'
import { ownerKeys } from './parse-once.ts'

interface ScanQueue<T> {
  /**
   * The result for this message; undefined if too many wait. Concurrent requests share one scan. A scan has no result if it was
   * dropped in favour of a client with fewer.
   */
  add(scan: ScanRequest): Promise<T | undefined> | undefined
  /** Resolves pending scans without a result. */
  close(): void
}

export interface ScanRequest {
  mailbox: MailboxId
  id: number
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
}

export interface ScanLimits {
  /** Maximum concurrent scans, in total and per client or mailbox. */
  atOnce: number
  atOncePerOwner: number
  /** Maximum waiting scans, in total and per client or mailbox. */
  waiting: number
  waitingPerOwner: number
  /**
   * Backoff after a refused scan. If the store is unavailable or full, it applies to all scans.
   */
  retry: Backoff
}

interface ScanQueueOptions<T> {
  run(scan: ScanRequest): Promise<T>
  /** Called with an unexpected error; the message is given up and has no result. */
  failed(error: unknown): void
  limits: ScanLimits
}

interface Waiting<T> extends ScanRequest {
  result: PromiseWithResolvers<T | undefined>
  refusals: number
}

/**
 * Scans messages that nobody may be waiting for: a few at once, the newest of a mailbox first. A client or a mailbox with a
 * thousand expensive mails delays the others by its share only. Refused scans are retried later.
 */
export function openScanQueue<T>({ run, failed, limits }: ScanQueueOptions<T>): ScanQueue<T> {
  const known = new Map<string, Waiting<T>>()
  const queue = openFairQueue<Waiting<T>>(queueLimits(limits), (item) => complete(item, undefined))
  const delays = openDelays(limits)
  let running = 0
  let closed = false
  const outage = openPause(limits, next)

  function next(): void {
    while (running < (outage.isProbing() ? 1 : limits.atOnce) && !outage.isActive()) {
      const ticket = queue.take({ background: true })
      if (!ticket) return
      void serve(ticket)
    }
  }

  async function serve(ticket: Ticket<Waiting<T>>): Promise<void> {
    const { item } = ticket
    running += 1
    // Charged by wall time; CPU time is measured and charged by the parser's own queue.
    const startedAt = performance.now()
    try {
      complete(item, await run(item))
      outage.reset()
    } catch (error) {
      if (!closed) handleError(item, error)
    } finally {
      running -= 1
      queue.done(ticket, performance.now() - startedAt)
      next()
    }
  }

  function handleError(item: Waiting<T>, error: unknown): void {
    if (error instanceof StoreUnavailable) {
      outage.begin()
      requeue(item)
    } else if (!(error instanceof Problem)) {
      failed(error)
      complete(item, undefined)
    } else if (!delays.start(item, () => requeue(item))) complete(item, undefined)
  }

  // It was accepted once: the limit on waiting scans does not apply again.
  function requeue(item: Waiting<T>): void {
    queue.add(item, { owner: ownerKeys(item), rank: -item.id, background: true })
    next()
  }

  function complete(item: Waiting<T>, result: T | undefined): void {
    known.delete(keyOf(item))
    item.result.resolve(result)
  }

  return {
    add(scan) {
      const same = known.get(keyOf(scan))
      if (same || closed) return same?.result.promise
      const item: Waiting<T> = { ...scan, result: Promise.withResolvers(), refusals: 0 }
      try {
        queue.add(item, { owner: ownerKeys(item), rank: -item.id })
      } catch (error) {
        if (error instanceof Problem) return undefined
        throw error
      }
      known.set(keyOf(item), item)
      next()
      return item.result.promise
    },
    close() {
      closed = true
      outage.end()
      delays.end()
      queue.clear()
      for (const item of known.values()) complete(item, undefined)
    },
  }
}

function keyOf({ mailbox, id }: ScanRequest): string {
  return `${mailbox} ${id}`
}

function queueLimits({ waiting, waitingPerOwner, atOncePerOwner }: ScanLimits): FairQueueLimits {
  return {
    waiting,
    waitingPerKey: waitingPerOwner,
    runningPerKey: atOncePerOwner,
    overloadMessage: 'Too many messages are waiting to be searched for codes.',
  }
}

/** Delays single scans, at most as many as may wait in the queue. */
function openDelays({ waiting, retry }: ScanLimits) {
  const timers = new Set<NodeJS.Timeout>()
  return {
    /** False if there are too many. */
    start(item: { refusals: number }, over: () => void): boolean {
      if (timers.size >= waiting) return false
      item.refusals += 1
      const timer = setTimeout(
        () => {
          timers.delete(timer)
          over()
        },
        backoffDelay(item.refusals, retry),
      )
      timers.add(timer)
      return true
    },
    end(): void {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** Pauses all scans after a failure, for longer if the next attempt fails as well. */
function openPause({ retry }: ScanLimits, over: () => void) {
  let failures = 0
  let timer: NodeJS.Timeout | undefined
  return {
    isActive: () => timer !== undefined,
    /** Until the next success, one scan at a time is enough. */
    isProbing: () => failures > 0,
    begin(): void {
      // Concurrent failures count as one.
      if (timer !== undefined) return
      failures += 1
      timer = setTimeout(
        () => {
          timer = undefined
          over()
        },
        backoffDelay(failures, retry),
      )
    },
    reset(): void {
      failures = 0
    },
    end: () => clearTimeout(timer),
  }
}
