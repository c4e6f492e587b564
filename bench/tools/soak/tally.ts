import { setTimeout as pause } from 'node:timers/promises'
import { hasErrorCode } from '../../../src/base/problem.ts'

export const LATENCIES = ['250', 'poll', 'wait', 'stream', 'webhook', 'fetch'] as const
export type Latency = (typeof LATENCIES)[number]

/** How often each has happened. */
type Counts = Record<string, number>

/** Since the last call. */
export interface Taken {
  /** Operations that succeeded and had something to do. */
  done: Counts
  ms: Record<Latency, number[]>
  /** Attempts that were made again, by what they met. */
  retries: Counts
  /** Errors: what failed for good, or is not what the contract says. */
  failed: Counts
}

export type Tally = ReturnType<typeof openTally>

export function openTally() {
  let taken = nothingTaken()
  return {
    /** Tokens and addresses in use: no log may have them. */
    secrets: new Set<string>(),
    done: (operation: string) => add(taken.done, operation),
    took: (latency: Latency, ms: number) => void taken.ms[latency].push(ms),
    retried: (reason: string) => add(taken.retries, reason),
    failed: (error: string) => add(taken.failed, error),
    take(): Taken {
      const result = taken
      taken = nothingTaken()
      return result
    },
  }
}

function add(counts: Counts, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

function nothingTaken(): Taken {
  const ms = Object.fromEntries(LATENCIES.map((name) => [name, [] as number[]]))
  return { done: {}, ms: ms as Taken['ms'], retries: {}, failed: {} }
}

export function sumCounts(all: readonly Counts[]): Counts {
  const sum: Counts = {}
  for (const counts of all)
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count
  return sum
}

/** Replies of a service that restarts, and of the proxy in front of it. SMTP: 0 is a closed connection. */
const UNAVAILABLE = { HTTP: [502, 503, 504], SMTP: [0, 421, 451] }
const CLOSED = ['ECONNREFUSED', 'ECONNRESET', 'EPIPE']
const RETRY_MS = 500
const MAX_RETRIES = 120

/** Repeats what meets a service that restarts, as senders and clients do, and counts that. `again`: it was repeated. */
export async function retryWhileUnavailable<R extends { status: number }>(
  tally: Tally,
  protocol: keyof typeof UNAVAILABLE,
  attempt: () => Promise<R>,
): Promise<R & { again: boolean }> {
  for (let retries = 0; ; retries += 1) {
    const result = await attempt().catch((error: Error) => {
      if (retries === MAX_RETRIES || !hasErrorCode(error, ...CLOSED)) throw error
      return { status: 0 }
    })
    const isUnavailable = result.status === 0 || UNAVAILABLE[protocol].includes(result.status)
    if (!isUnavailable || retries === MAX_RETRIES) return { ...(result as R), again: retries > 0 }
    tally.retried(`${protocol} ${result.status || 'closed'}`)
    await pause(RETRY_MS)
  }
}
