import { setTimeout as pause } from 'node:timers/promises'
import { openScheduler, type Running } from '../../core/fair-scheduler.ts'
import { Problem } from '../../core/problem.ts'
import { ownerKeys, type ParseRequest } from './parse-once.ts'

/** Reads of large mails in this thread, which unpacks and decodes them. */
export interface LargeReads {
  /**
   * Reads at once if the mail is small, else when it is its reader's turn. Reads of the same key share one run. A reader who has
   * waited too long gets `overloaded`.
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
  /** How long a reader waits; only tests set it. */
  deadlineMs?: number
}

// The mail's own size also stands for that of its parsed form, which the parser bounds: HTML, and a text of at most four times its
// length and never more than a million characters.
const LARGE_BYTES = 256 * 1024
const LIMITS = {
  slots: 1,
  maxWaiting: 200,
  maxWaitingPerKey: 20,
  refusal: 'Too many large messages are waiting to be read.',
}
// What is read is then written as JSON, which takes about as long again: with this rest, large reads take about half of the
// thread's time at most, however many ask.
const REST = 2
const MAX_REST_MS = 200

/**
 * A mail of 10 MB takes 50 to 100 ms of this thread. Large ones are therefore read one at a time, clients and mailboxes in
 * turn, and the thread is left to all other requests in between.
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
    // Not by the time that passes: while the database is slow, this thread has nothing to do.
    const cost = result.then(cpuMs, cpuMs).then(async (ms) => {
      await rest(Math.min(REST * ms, MAX_REST_MS))
      return ms
    })
    return { result, cost }
  }

  return {
    run(key, { size, signal, background = false, ...reader }, read) {
      if (size < LARGE_BYTES) return read()
      const owner = ownerKeys(reader)
      if (background) return scheduler.run(key, { owner, background }, () => startRead(read))
      return withDeadline(deadlineMs, signal, (ended) =>
        scheduler.run(key, { owner, signal: ended }, () => startRead(read)),
      )
    },
  } satisfies LargeReads
}

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
