import { setTimeout as pause } from 'node:timers/promises'
import { openScheduler, type Running } from '../../base/fair-scheduler.ts'
import { Problem } from '../../base/problem.ts'
import { ownerKeys, type ParseRequest } from './parse-once.ts'

/** Schedules reads of large mails, with all work that takes longer the larger the mail is. */
export interface LargeReads {
  /**
   * Reads at once if the mail is small, else in turn. Reads with the same key share one run. A request that waits too long is
   * rejected with `overloaded`.
   */
  run<T>(key: string, request: LargeRead, read: () => Promise<T>): Promise<T>
}

export interface LargeRead extends ParseRequest {
  /** Of the whole mail, in bytes. */
  size: number
  signal?: AbortSignal | undefined
}

interface LargeReadsOptions {
  rest?: (ms: number) => Promise<void>
  /** How long a request waits; only tests set it. */
  deadlineMs?: number
}

// The size of the mail also stands for its parsed form, which is bounded: HTML, and text of at most four times its length and a
// million characters.
const LARGE_BYTES = 256 * 1024
const LIMITS = {
  slots: 1,
  maxWaiting: 200,
  maxWaitingPerKey: 20,
  overloadMessage: 'Too many large messages are waiting to be read.',
}
// With this pause, large reads take at most about a third of the thread's time.
const REST = 2
const MAX_REST_MS = 200

export function isLarge({ size }: Pick<LargeRead, 'size'>): boolean {
  return size >= LARGE_BYTES
}

/**
 * A mail of 10 MB takes 30 to 50 ms of this thread. Large mails are therefore read one at a time and in steps, fairly by client
 * and mailbox, with pauses for all other requests.
 */
export function openLargeReads({ rest = pause, deadlineMs = DEADLINE_MS }: LargeReadsOptions = {}) {
  const scheduler = openScheduler(LIMITS)

  function startRead<T>(read: () => Promise<T>): Running<T> {
    const startedAt = process.threadCpuUsage()
    const result = read()
    const cpuMs = () => {
      const { user, system } = process.threadCpuUsage(startedAt)
      return (user + system) / 1_000
    }
    // CPU time, not wall time: while the database is slow, this thread is idle.
    const cost = result.then(cpuMs, cpuMs).then(async (ms) => {
      await rest(Math.min(REST * ms, MAX_REST_MS))
      return ms
    })
    return { result, cost }
  }

  return {
    run(key, { size, signal, background = false, ...reader }, read) {
      if (!isLarge({ size })) return read()
      const owner = ownerKeys(reader)
      if (background) return scheduler.run(key, { owner, background }, () => startRead(read))
      return withDeadline(deadlineMs, signal, (ended) =>
        scheduler.run(key, { owner, signal: ended }, () => startRead(read)),
      )
    },
  } satisfies LargeReads
}

// Well below the idle timeout of HTTP connections, and enough for a fair share of two children unless some twenty other
// clients keep them busy with the most expensive mails.
export const DEADLINE_MS = 10_000
const RETRY_SECONDS = 2

/** Aborts the task's signal with `overloaded` at the deadline. */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal | undefined,
  task: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const late = new Problem('overloaded', 'Too many messages are waiting to be read.', RETRY_SECONDS)
  const timer = setTimeout(() => deadline.abort(late), ms)
  try {
    return await task(signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal)
  } finally {
    clearTimeout(timer)
  }
}
