import { type FairQueueLimits, openFairQueue, type Ticket } from '../../core/fair-queue.ts'
import { Problem, StoreUnavailable } from '../../core/problem.ts'
import type { MailboxId } from '../../core/session.ts'
import { ownerKeys } from './parse-once.ts'

interface ScanQueue<T> {
  /**
   * The result for this message; undefined: too many wait. However many ask, it is looked up once. A look-up has no result if it was
   * dropped for that of a client with fewer.
   */
  add(lookup: ScanRequest): Promise<T | undefined> | undefined
  /** Whoever waits for a result gets none. */
  close(): void
}

export interface ScanRequest {
  mailbox: MailboxId
  id: number
  /** Rate-limit key of the client who asks; undefined if rate limits do not apply. */
  client: string | undefined
}

export interface ScanLimits {
  /** How many run at once, in all and for one client or mailbox. */
  atOnce: number
  atOncePerOwner: number
  /** How many wait, in all and for one client or mailbox. */
  waiting: number
  waitingPerOwner: number
  /**
   * A look-up that is refused is tried again after so long; when it is refused again, after twice as long. When the store is away
   * or full, the same goes for all.
   */
  restMs: number
  longestRestMs: number
}

interface ScanQueueOptions<T> {
  run(lookup: ScanRequest): Promise<T>
  /** Hears of what is no refusal; such a message is given up, and has no result. */
  failed(error: unknown): void
  limits: ScanLimits
}

interface Waiting<T> extends ScanRequest {
  result: PromiseWithResolvers<T | undefined>
  /** How long it waits when it is refused. */
  delayMs: number
}

/**
 * Looks up messages that nobody may be waiting for: a few at once, the newest of a mailbox first. A client or a mailbox with a thousand
 * costly mails delays the others by its share and no more. What is refused is tried again later.
 */
export function openScanQueue<T>({ run, failed, limits }: ScanQueueOptions<T>): ScanQueue<T> {
  const known = new Map<string, Waiting<T>>()
  const queue = openFairQueue<Waiting<T>>(queueLimits(limits), (item) => complete(item, undefined))
  const delays = openDelays(limits)
  let running = 0
  let closed = false
  const outage = openBackoff(limits, next)

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
    // The time that passes stands for the cost; what the parse costs is measured, and charged, where it is done.
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

  // It was accepted once: the limits on waiting are not applied again.
  function requeue(item: Waiting<T>): void {
    queue.add(item, { owner: ownerKeys(item), rank: -item.id, background: true })
    next()
  }

  function complete(item: Waiting<T>, result: T | undefined): void {
    known.delete(keyOf(item))
    item.result.resolve(result)
  }

  return {
    add(lookup) {
      const same = known.get(keyOf(lookup))
      if (same || closed) return same?.result.promise
      const item: Waiting<T> = waitingOf(lookup, limits)
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

function waitingOf<T>({ mailbox, id, client }: ScanRequest, { restMs }: ScanLimits): Waiting<T> {
  return { mailbox, id, client, result: Promise.withResolvers(), delayMs: restMs }
}

function keyOf({ mailbox, id }: ScanRequest): string {
  return `${mailbox} ${id}`
}

function queueLimits({ waiting, waitingPerOwner, atOncePerOwner }: ScanLimits): FairQueueLimits {
  return {
    waiting,
    waitingPerKey: waitingPerOwner,
    runningPerKey: atOncePerOwner,
    refusal: 'Too many messages are waiting to be searched for codes.',
  }
}

/** Delays single look-ups, no more at once than may wait in the queue. */
function openDelays({ waiting, longestRestMs }: ScanLimits) {
  const timers = new Set<NodeJS.Timeout>()
  return {
    /** False: there are too many. */
    start(item: { delayMs: number }, over: () => void): boolean {
      if (timers.size >= waiting) return false
      const timer = setTimeout(() => {
        timers.delete(timer)
        over()
      }, item.delayMs)
      timers.add(timer)
      item.delayMs = Math.min(2 * item.delayMs, longestRestMs)
      return true
    },
    end(): void {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}

/** A pause of all look-ups after a failure, and a longer one when the one that is tried next fails as well. */
function openBackoff({ restMs, longestRestMs }: ScanLimits, over: () => void) {
  let nextMs = restMs
  let timer: NodeJS.Timeout | undefined
  return {
    isActive: () => timer !== undefined,
    /** Until the next success: one that fails is enough. */
    isProbing: () => nextMs !== restMs,
    begin(): void {
      // Several that fail at once count as one failure.
      if (timer !== undefined) return
      timer = setTimeout(() => {
        timer = undefined
        over()
      }, nextMs)
      nextMs = Math.min(2 * nextMs, longestRestMs)
    },
    reset(): void {
      nextMs = restMs
    },
    end: () => clearTimeout(timer),
  }
}
