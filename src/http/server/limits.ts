import type { ServerResponse } from 'node:http'
import { Problem } from '../../core/problem.ts'
import { longPollsGauge } from './metrics.ts'
import type { HttpResponse } from './response.ts'
import type { HttpRequest } from './route.ts'

export interface LongPollLimit {
  /**
   * Counts one more open wait or stream of a mailbox, or of a key, until the returned function is called or the response is
   * closed, whichever comes first. Refuses when there are too many, and a client that has gone already.
   */
  acquire(
    mailbox: number | string,
    call: Pick<HttpRequest, 'client' | 'throwIfClosed' | 'onClose'>,
  ): () => void
}

const LONG_POLL_LIMITS = { all: 10_000, client: 1_000, mailbox: 100 }

/** Each open wait holds a socket and timers: no one mailbox and no one address may hold them all. */
export function openLongPollLimit(limits = LONG_POLL_LIMITS): LongPollLimit {
  const held = new Map<string, number>()
  let all = 0

  function add(key: string, step: 1 | -1): void {
    const count = (held.get(key) ?? 0) + step
    if (count === 0) held.delete(key)
    else held.set(key, count)
  }

  return {
    acquire(mailbox, { client, throwIfClosed, onClose }) {
      throwIfClosed()
      const box = `box ${mailbox}`
      const who = client === undefined ? undefined : `client ${client}`
      const tooMany =
        all >= limits.all ||
        (held.get(box) ?? 0) >= limits.mailbox ||
        (who !== undefined && (held.get(who) ?? 0) >= limits.client)
      if (tooMany) throw new Problem('overloaded', 'Too many requests wait already.', 5)
      const keys = who === undefined ? [box] : [box, who]
      all += 1
      longPollsGauge.inc()
      for (const key of keys) add(key, 1)
      let open = true
      const release = () => {
        if (!open) return
        open = false
        all -= 1
        longPollsGauge.dec()
        for (const key of keys) add(key, -1)
      }
      onClose(release)
      return release
    },
  }
}

export interface SendBudget {
  /** Counts a large body until its client has taken it or gone. Refuses when too much is under way already. */
  reserve(body: HttpResponse['body'], response: ServerResponse, client: string): void
}

const LARGE_BODY_BYTES = 64 * 1024

/**
 * A body stays in memory until its client has taken it, and some take their time: all of them share one budget, of which
 * nobody has more than a quarter, so that one who takes nothing does not hold up the others.
 */
export function openSendBudget(maxBytes: number): SendBudget {
  const held = new Map<string, number>()
  let bytes = 0

  function add(client: string, size: number): void {
    bytes += size
    const sum = (held.get(client) ?? 0) + size
    if (sum === 0) held.delete(client)
    else held.set(client, sum)
  }

  return {
    reserve(body, response, client) {
      const size = sizeOf(body)
      // Who has gone already will not tell us so again.
      if (size <= LARGE_BODY_BYTES || response.destroyed) return
      // One alone always passes, whatever the budget.
      const own = held.get(client) ?? 0
      const tooMuch = own > 0 && own + size > maxBytes / 4
      if (tooMuch || (bytes > 0 && bytes + size > maxBytes)) {
        throw new Problem('overloaded', 'Too many downloads are under way.', 5)
      }
      add(client, size)
      response.once('close', () => add(client, -size))
    },
  }
}

function sizeOf(body: HttpResponse['body']): number {
  if (typeof body === 'string') return body.length
  return body instanceof Uint8Array ? body.byteLength : 0
}
