import { Problem } from '../core/problem.ts'

// Well below the time after which the HTTP server closes a silent connection, and longer than a client's fair share of two
// children takes unless some twenty others keep them busy with the costliest of mails.
export const DEADLINE_MS = 10_000
const RETRY_SECONDS = 2

/** Rejects with `overloaded` at the deadline, if the task rejects with the reason of its signal. */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  task: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const late = new Problem('overloaded', 'Too many mails are waiting to be read.', RETRY_SECONDS)
  const timer = setTimeout(() => deadline.abort(late), ms)
  try {
    return await task(signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal)
  } finally {
    clearTimeout(timer)
  }
}
