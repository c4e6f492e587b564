import { Problem } from '../../core/problem.ts'
import type { ReceiveLimits } from '../../core/recipient.ts'
import type { MailStore, StoreFault } from '../store.ts'
import type { Connections } from './connection/connections.ts'
import {
  DURABILITY,
  type DurabilityRow,
  durabilityFault,
  NotDurable,
} from './connection/durability.ts'
import { type CheckedConnectionOptions, openCheckedConnections } from './connection/server.ts'
import { accountReads, accountWrites } from './mail/accounts.ts'
import { domainReads, domainWrites } from './mail/domains.ts'
import { deferredReads, fetchReads, fetchWrites } from './mail/fetched-mail.ts'
import { keyMailReads } from './mail/key-mail.ts'
import { leaseWrites, NOW } from './mail/leases.ts'
import { mailReads, mailWrites } from './mail/mail.ts'
import type { Retention } from './mail/mailbox-locks.ts'
import { messageReads, messageWrites } from './mail/messages.ts'
import { operatorReads } from './mail/operator.ts'
import { AHEAD_DAYS, openPartitionCache } from './mail/partition-key.ts'
import { serialNumbers } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { sessionReads, sessionWrites } from './mail/sessions.ts'
import { sharedReads } from './mail/shared-mailboxes.ts'
import { sweepWrites } from './mail/sweep.ts'

export interface PostgresMailOptions extends CheckedConnectionOptions, Retention {
  limits: ReceiveLimits
  random?: () => number
  /** For how many days to come partitions are kept ready. */
  aheadDays?: number
}

/** The mail store as one thread of one node sees it. There is no writer beside it: PostgreSQL decides who was first. */
export async function openPostgresMail(options: PostgresMailOptions): Promise<MailStore> {
  return mailStore(await openCheckedConnections(options, 'mail'), options)
}

function mailStore(pool: Connections, options: PostgresMailOptions): MailStore {
  const { limits, poolMs, operatorMs, random = Math.random, aheadDays = AHEAD_DAYS } = options
  const places = openPartitionCache()
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
    ...keyMailReads(pool, places),
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
async function obstacle(pool: Connections): Promise<StoreFault | undefined> {
  try {
    const before = Date.now()
    const [row] = await pool.query<{ replica: boolean; there: number } & DurabilityRow>(
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
