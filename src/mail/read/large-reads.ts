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
  /** Aborts the signal of the task with `overloaded` if it takes too long. */
  withDeadline<T>(
    signal: AbortSignal | undefined,
    task: (ended: AbortSignal) => Promise<T>,
  ): Promise<T>
}

export interface LargeRead extends ParseRequest {
  /** Size of the whole mail, in bytes. */
  size: number
  signal?: AbortSignal | undefined
}

/** Only tests set these. */
interface LargeReadsOptions {
  rest?: (ms: number) => Promise<void>
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
// Well below the idle timeout of HTTP connections, and enough for a fair share of two children unless some twenty other
// clients keep them busy with the most expensive mails.
const DEADLINE_MS = 10_000
const RETRY_SECONDS = 2

export function isLarge({ size }: Pick<LargeRead, 'size'>): boolean {
  return size >= LARGE_BYTES
}

/**
 * A mail of 10 MB takes 30 to 50 ms of this thread. Large mails are therefore read one at a time and in steps, fairly by client
 * and mailbox, with pauses for all other requests.
 */
export function openLargeReads({
  rest = pause,
  deadlineMs = DEADLINE_MS,
}: LargeReadsOptions = {}): LargeReads {
  const scheduler = openScheduler(LIMITS)

  function startRead<T>(read: () => Promise<T>): Running<T> {
    const startedAt = process.threadCpuUsage()
    const result = read()
    // CPU time, not wall time: while the database is slow, this thread is idle.
    const restOver = async () => {
      const { user, system } = process.threadCpuUsage(startedAt)
      const ms = (user + system) / 1_000
      await rest(Math.min(REST * ms, MAX_REST_MS))
      return ms
    }
    return { result, cost: result.then(restOver, restOver) }
  }

  const withDeadline: LargeReads['withDeadline'] = async (signal, task) => {
    const deadline = new AbortController()
    const message = 'Too many messages are waiting to be read.'
    const late = () => deadline.abort(new Problem('overloaded', message, RETRY_SECONDS))
    const timer = setTimeout(late, deadlineMs)
    try {
      return await task(signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    withDeadline,
    run(key, { size, signal, background = false, ...reader }, read) {
      if (!isLarge({ size })) return read()
      const inTurn = (ended?: AbortSignal) =>
        scheduler.run(key, { owner: ownerKeys(reader), background, signal: ended }, () =>
          startRead(read),
        )
      return background ? inTurn() : withDeadline(signal, inTurn)
    },
  }
}
