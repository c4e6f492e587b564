import type { ServerResponse } from 'node:http'
import { gauge } from '../../base/metrics.ts'
import { Problem } from '../../base/problem.ts'
import type { HttpRequest } from './request.ts'

export interface LongPollLimit {
  /**
   * Counts one more long poll or stream of a mailbox or key until the returned function is called or the response
   * closes. Throws at a limit, or if the client has disconnected.
   */
  acquire(
    mailbox: number | string,
    request: Pick<HttpRequest, 'client' | 'throwIfClosed' | 'onClose'>,
  ): () => void
}

let waiting = 0

/** Requests of this thread that wait for mail. */
export function waitingRequests(): number {
  return waiting
}

gauge('mayfly_http_waiting', 'Requests that wait for mail, and open event streams', waitingRequests)

/** Limits of each thread. */
export const LONG_POLL_LIMITS = { all: 10_000, client: 1_000, mailbox: 100 }

/** Each long poll holds a socket and timers, so they are limited per mailbox, per client and in all. */
export function openLongPollLimit(limits = LONG_POLL_LIMITS): LongPollLimit {
  const counts = new Map<string, number>()
  let all = 0

  return {
    acquire(mailbox, { client, throwIfClosed, onClose }) {
      throwIfClosed()
      const box = `box ${mailbox}`
      const who = client === undefined ? undefined : `client ${client}`
      const tooMany =
        all >= limits.all ||
        (counts.get(box) ?? 0) >= limits.mailbox ||
        (who !== undefined && (counts.get(who) ?? 0) >= limits.client)
      if (tooMany) throw new Problem('overloaded', 'Too many open long polls.', 5)
      const keys = who === undefined ? [box] : [box, who]
      all += 1
      waiting += 1
      for (const key of keys) addTo(counts, key, 1)
      let open = true
      const release = () => {
        if (!open) return
        open = false
        all -= 1
        waiting -= 1
        for (const key of keys) addTo(counts, key, -1)
      }
      onClose(release)
      return release
    },
  }
}

export interface SendBudget {
  /**
   * Counts a large body until the response closes. Throws above the limit. May be called again: the largest size counts.
   */
  reserve(bytes: number, response: ServerResponse, client: string): void
}

const LARGE_BODY_BYTES = 64 * 1024

/**
 * A body stays in memory until the client has read it. All share one budget, of which one client gets at most a quarter,
 * so that a client that does not read cannot block the others.
 */
export function openSendBudget(maxBytes: number): SendBudget {
  const held = new Map<string, number>()
  const reserved = new WeakMap<ServerResponse, number>()
  let all = 0

  function add(client: string, bytes: number): void {
    all += bytes
    addTo(held, client, bytes)
  }

  return {
    reserve(bytes, response, client) {
      const before = reserved.get(response) ?? 0
      // A closed response emits no further event.
      if (bytes <= LARGE_BODY_BYTES || bytes <= before || response.destroyed) return
      // A single body always passes, whatever the budget.
      const own = (held.get(client) ?? 0) - before
      const others = all - before
      const tooMuch = own > 0 && own + bytes > maxBytes / 4
      if (tooMuch || (others > 0 && others + bytes > maxBytes)) {
        throw new Problem('overloaded', 'Too many downloads in progress.', 5)
      }
      add(client, bytes - before)
      reserved.set(response, bytes)
      if (before === 0) response.once('close', () => add(client, -(reserved.get(response) ?? 0)))
    },
  }
}

function addTo(sums: Map<string, number>, key: string, change: number): void {
  const sum = (sums.get(key) ?? 0) + change
  if (sum === 0) sums.delete(key)
  else sums.set(key, sum)
}
