import { setTimeout as pause } from 'node:timers/promises'
import { openScheduler, type Running } from '../core/fair-scheduler.ts'
import { ownerOf, type ParseRequest } from './parse-once.ts'

/** Reads of large mails in this thread, which unpacks and decodes them. */
export interface LargeReads {
  /** Reads at once if the mail is small, else when it is its reader's turn. Reads of the same key share one run. */
  run<T>(key: string, request: LargeRead, read: () => Promise<T>): Promise<T>
}

export interface LargeRead extends Pick<ParseRequest, 'client' | 'mailbox'> {
  /** Of the whole mail, in bytes. */
  size: number
  signal?: AbortSignal | undefined
}

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

/**
 * A mail of 10 MB takes 50 to 100 ms of this thread. Large ones are therefore read one at a time, clients and mailboxes in
 * turn, and the thread is left to all other requests in between.
 */
export function openLargeReads({ rest = pause }: { rest?: (ms: number) => Promise<void> } = {}) {
  const scheduler = openScheduler(LIMITS)

  function resting<T>(result: Promise<T>): Running<T> {
    const startedAt = performance.now()
    const elapsed = () => performance.now() - startedAt
    const cost = result.then(elapsed, elapsed).then(async (ms) => {
      await rest(REST * ms)
      return ms
    })
    return { result, cost }
  }

  return {
    run(key, { size, signal, ...reader }, read) {
      if (size < LARGE_BYTES) return read()
      return scheduler.run(key, { owner: ownerOf(reader), signal }, () => resting(read()))
    },
  } satisfies LargeReads
}
