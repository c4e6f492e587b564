import type { MailLogResult } from './rules.ts'

// How many lines a client gets, however many mails it sends: beyond that they are counted.

const CLIENT = { burst: 60, refillMs: 1_000 }
/** All clients of a thread: lines of a flood from many networks must not delay mail either. */
const ALL = { burst: 1_000, refillMs: 2 }
/** A count is written once the client has room again, or after this time. */
const COUNT_MS = 60_000
const ROOM = 2
const MAX_CLIENTS = 10_000
const FORGET_MS = 1_000
/** Stands for those that are not remembered. */
const OTHERS = ''

interface Bucket {
  burst: number
  refillMs: number
  tokens: number
  /** When it was filled last. */
  at: number
}

interface Client extends Bucket {
  counted: Map<MailLogResult, number> | undefined
  countedSince: number
}

export interface LineCount {
  client: string
  result: MailLogResult
  count: number
}

/** Times are monotonic milliseconds. */
export function openLineThrottle() {
  const clients = new Map<string, Client>()
  const all: Bucket = { ...ALL, tokens: ALL.burst, at: 0 }
  let counting = 0
  let forgotAt = 0

  function clientOf(name: string, now: number): Client {
    const known = clients.get(name)
    if (known) return known
    if (clients.size >= MAX_CLIENTS) forgetIdle(now)
    if (clients.size >= MAX_CLIENTS && name !== OTHERS) return clientOf(OTHERS, now)
    const added = { ...CLIENT, tokens: CLIENT.burst, at: now, counted: undefined, countedSince: 0 }
    clients.set(name, added)
    return added
  }

  /** At most once a second: it looks at all of them. */
  function forgetIdle(now: number): void {
    if (now - forgotAt < FORGET_MS) return
    forgotAt = now
    for (const [name, client] of clients) {
      refill(client, now)
      if (client.tokens >= client.burst && !client.counted) clients.delete(name)
    }
  }

  return {
    /** Whether a line may be written; if not, it is counted. */
    take(name: string, result: MailLogResult, now: number): boolean {
      const client = clientOf(name, now)
      refill(client, now)
      refill(all, now)
      if (client.tokens >= 1 && all.tokens >= 1) {
        client.tokens -= 1
        all.tokens -= 1
        return true
      }
      if (!client.counted) {
        client.counted = new Map()
        client.countedSince = now
        counting += 1
      }
      client.counted.set(result, (client.counted.get(result) ?? 0) + 1)
      return false
    },

    /** Counts that are due, as many as lines may be written. `isLast`: all of them are due. */
    takeCounts(now: number, isLast = false): LineCount[] {
      if (counting === 0) return []
      const due: LineCount[] = []
      refill(all, now)
      for (const [name, client] of clients) {
        const { counted, countedSince } = client
        if (!counted || all.tokens < counted.size) continue
        refill(client, now)
        const isDue = isLast || client.tokens >= ROOM || now - countedSince >= COUNT_MS
        if (!isDue) continue
        for (const [result, count] of counted) due.push({ client: name, result, count })
        all.tokens -= counted.size
        client.tokens = Math.max(0, client.tokens - counted.size)
        client.counted = undefined
        counting -= 1
      }
      return due
    },

    isCounting: () => counting > 0,
  }
}

function refill(bucket: Bucket, now: number): void {
  if (now <= bucket.at) return
  bucket.tokens = Math.min(bucket.burst, bucket.tokens + (now - bucket.at) / bucket.refillMs)
  bucket.at = now
}
