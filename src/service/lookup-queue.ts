import { type Owner, openFairQueue, type Ticket } from '../core/fair-queue.ts'
import { Problem } from '../core/problem.ts'
import type { MailboxId } from '../core/session.ts'

export interface LookupQueue<T> {
  /** The result for this message; undefined: too many wait. However many ask, it is looked up once. */
  add(lookup: Lookup): Promise<T | undefined> | undefined
  /** Whoever waits for a result gets none. */
  close(): void
}

export interface Lookup {
  mailbox: MailboxId
  id: number
  /** Rate-limit key of the client who asks; undefined if rate limits do not apply. */
  client: string | undefined
}

export interface LookupLimits {
  /** How many run at once, in all and for one client or mailbox. */
  atOnce: number
  atOncePerOwner: number
  /** How many wait, in all and for one client or mailbox. */
  waiting: number
  waitingPerOwner: number
  /** After a refusal nothing is begun for so long; when the next is refused too, for twice as long. */
  restMs: number
  longestRestMs: number
}

interface LookupQueueOptions<T> {
  run(lookup: Lookup): Promise<T>
  /** Hears of what is no refusal; such a message is given up, and has no result. */
  failed(error: unknown): void
  limits: LookupLimits
}

interface Waiting<T> extends Lookup {
  result: PromiseWithResolvers<T | undefined>
}

/**
 * Looks up messages that nobody may be waiting for: a few at once, the newest of a mailbox first. A client or a mailbox with a thousand
 * costly mails delays the others by its share and no more. What is refused is tried again later.
 */
export function openLookupQueue<T>({ run, failed, limits }: LookupQueueOptions<T>): LookupQueue<T> {
  const known = new Map<string, Waiting<T>>()
  const queue = openFairQueue<Waiting<T>>({
    waiting: limits.waiting,
    waitingPerKey: limits.waitingPerOwner,
    runningPerKey: limits.atOncePerOwner,
    refusal: 'Too many messages are waiting to be searched for codes.',
  })
  let running = 0
  let closed = false
  const rest = resting(limits, next)

  function next(): void {
    while (running < (rest.isDoubtful() ? 1 : limits.atOnce) && !rest.isOn()) {
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
      settle(item, await run(item))
      rest.forget()
    } catch (error) {
      if (!closed) putOff(item, error)
    } finally {
      running -= 1
      queue.done(ticket, performance.now() - startedAt)
      next()
    }
  }

  function putOff(item: Waiting<T>, error: unknown): void {
    if (error instanceof Problem) {
      // It was let in once: the limits on waiting are not asked again.
      queue.add(item, { owner: ownerOf(item), rank: -item.id, background: true })
      rest.begin()
    } else {
      failed(error)
      settle(item, undefined)
    }
  }

  function settle(item: Waiting<T>, result: T | undefined): void {
    known.delete(keyOf(item))
    item.result.resolve(result)
  }

  return {
    add({ mailbox, id, client }) {
      const item: Waiting<T> = { mailbox, id, client, result: Promise.withResolvers() }
      const same = known.get(keyOf(item))
      if (same) return same.result.promise
      if (closed) return undefined
      try {
        queue.add(item, { owner: ownerOf(item), rank: -id })
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
      rest.end()
      queue.clear()
      for (const item of known.values()) settle(item, undefined)
    },
  }
}

function keyOf({ mailbox, id }: Lookup): string {
  return `${mailbox} ${id}`
}

function ownerOf({ mailbox, client }: Lookup): Owner {
  const keys = client === undefined ? [] : [`client ${client}`]
  return [...keys, `mailbox ${mailbox}`]
}

/** A pause after a refusal, and a longer one when what is tried next is refused as well. */
function resting({ restMs, longestRestMs }: LookupLimits, over: () => void) {
  let nextMs = restMs
  let timer: NodeJS.Timeout | undefined
  return {
    isOn: () => timer !== undefined,
    /** Until the next success: one that is refused is enough. */
    isDoubtful: () => nextMs !== restMs,
    begin(): void {
      // Of several that are refused at once, the first says it for all.
      if (timer !== undefined) return
      timer = setTimeout(() => {
        timer = undefined
        over()
      }, nextMs)
      nextMs = Math.min(2 * nextMs, longestRestMs)
    },
    forget(): void {
      nextMs = restMs
    },
    end: () => clearTimeout(timer),
  }
}
