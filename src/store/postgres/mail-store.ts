import { Problem } from '../../core/problem.ts'
import type { ReceiveLimits } from '../../core/recipient.ts'
import type { MailStore, Obstacle } from '../store.ts'
import { accountReads, accountWrites } from './accounts.ts'
import { openBucketCache } from './bucket-cache.ts'
import type { Connections } from './connections.ts'
import { deferredReads } from './deferred.ts'
import { domainReads, domainWrites } from './domains.ts'
import { DURABILITY, type DurabilityRow, durabilityFault, NotDurable } from './durability.ts'
import { fetchReads, fetchWrites } from './fetched.ts'
import { leaseWrites, NOW } from './lease.ts'
import { mailReads, mailWrites } from './mail.ts'
import type { Retention } from './mailbox-locks.ts'
import { messageReads, messageWrites } from './messages.ts'
import { operatorReads } from './operator.ts'
import { AHEAD_DAYS } from './partition-days.ts'
import { readerReads } from './readers.ts'
import { recipientReads } from './recipients.ts'
import { serialNumbers } from './serials.ts'
import { openReadyPool, type ReadyPoolOptions } from './server.ts'
import { sessionReads, sessionWrites } from './sessions.ts'
import { sharedReads } from './shared.ts'
import { sweepWrites } from './sweep.ts'

export interface PostgresMailOptions extends ReadyPoolOptions, Retention {
  limits: ReceiveLimits
  random?: () => number
  /** For how many days to come partitions are kept ready. */
  aheadDays?: number
}

/** The mail store as one thread of one node sees it. There is no writer beside it: PostgreSQL decides who was first. */
export async function openPostgresMail(options: PostgresMailOptions): Promise<MailStore> {
  return mailStore(await openReadyPool(options, 'mail'), options)
}

function mailStore(pool: Connections, options: PostgresMailOptions): MailStore {
  const { limits, poolMs, operatorMs, random = Math.random, aheadDays = AHEAD_DAYS } = options
  const places = openBucketCache()
  const keeping = { poolMs, operatorMs }
  const deps = { limits, keeping, random, serials: serialNumbers(pool) }

  return {
    ...domainReads(pool),
    ...domainWrites(pool),
    ...accountReads(pool),
    ...accountWrites(pool),
    ...fetchReads(pool),
    ...fetchWrites(pool, deps),
    ...deferredReads(pool, limits),
    ...sessionReads(pool, places),
    ...sessionWrites(pool, random),
    ...recipientReads(pool),
    ...sharedReads(pool),
    ...messageReads(pool, places),
    ...messageWrites(pool),
    ...readerReads(pool, places),
    ...mailReads(pool),
    ...mailWrites(pool, deps),
    ...operatorReads(pool),
    ...leaseWrites(pool),
    ...sweepWrites(pool, aheadDays),
    obstacle: throttled(() => obstacle(pool)),
    close: () => pool.close(),
  }
}

// Half of what the sweep leaves between the end of a session and that of its mail: beyond it one node would clear away what
// another has just taken in, or promise what the others hold to be over.
const WRONG_CLOCK_MS = 30_000

/** What stands in the way; how much disk the server has left it does not tell. */
async function obstacle(pool: Connections): Promise<Obstacle | undefined> {
  try {
    const before = Date.now()
    const [row] = await pool.rows<{ replica: boolean; there: number } & DurabilityRow>(
      `select pg_is_in_recovery() as replica, ${NOW} as there, ${DURABILITY}`,
    )
    const fault = durabilityFault(row) ?? pool.durabilityFault()
    if (fault !== undefined) return { kind: 'away', reason: `PostgreSQL: ${fault}` }
    if (row?.replica) return { kind: 'away', reason: 'PostgreSQL is a replica, which only reads' }
    const wrongMs = Math.max(before - (row?.there ?? before), (row?.there ?? before) - Date.now())
    if (wrongMs <= WRONG_CLOCK_MS) return undefined
    const seconds = Math.round(wrongMs / 1000)
    return { kind: 'away', reason: `our clock and PostgreSQL's are ${seconds} s apart` }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { cause } = error
    const isUnsafe = cause instanceof NotDurable
    const reason = isUnsafe ? `PostgreSQL: ${cause.message}` : 'PostgreSQL cannot be reached'
    return { kind: 'away', reason }
  }
}

// Asked at each mail.
const LOOK_MS = 500

function throttled<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: { value: Promise<T>; until: number } | undefined
  return () => {
    const now = performance.now()
    if (!answer || now >= answer.until) answer = { value: ask(), until: now + LOOK_MS }
    return answer.value
  }
}
