import type { ServerResponse } from 'node:http'
import { Problem } from '../core/problem.ts'
import type { Answer } from './answer.ts'

export interface Outgoing {
  /** Counts a large body until its client has taken it or gone. Refuses when too much is under way already. */
  admit(body: Answer['body'], response: ServerResponse): void
}

const LARGE = 64 * 1024

/** A body stays in memory until its client has taken it, and some take their time: all of them share one budget. */
export function outgoingBudget(maxBytes: number): Outgoing {
  let bytes = 0

  return {
    admit(body, response) {
      const size = sizeOf(body)
      if (size <= LARGE) return
      // One alone always passes, whatever the budget.
      if (bytes > 0 && bytes + size > maxBytes) {
        throw new Problem('overloaded', 'Too many downloads are under way.', 5)
      }
      bytes += size
      response.once('close', () => {
        bytes -= size
      })
    },
  }
}

function sizeOf(body: Answer['body']): number {
  if (typeof body === 'string') return body.length
  return body instanceof Uint8Array ? body.byteLength : 0
}
