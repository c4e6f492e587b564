import type { ServerResponse } from 'node:http'
import { Problem } from '../../core/problem.ts'
import type { HttpResponse } from './response.ts'

export interface SendBudget {
  /** Counts a large body until its client has taken it or gone. Refuses when too much is under way already. */
  admit(body: HttpResponse['body'], response: ServerResponse, client: string): void
}

const LARGE = 64 * 1024

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
    admit(body, response, client) {
      const size = sizeOf(body)
      // Who has gone already will not tell us so again.
      if (size <= LARGE || response.destroyed) return
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
