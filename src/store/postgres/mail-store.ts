import { outageCause } from '../../base/jobs/outage.ts'
import { Problem } from '../../base/problem.ts'
import { throttled } from '../../base/throttled.ts'
import { type LedgerHmac, openLedgerHmac } from '../../mail/rules/ledger.ts'
import type { ReceiveLimits } from '../../mail/rules/recipient.ts'
import type { StoreFault, SweepOptions } from '../../mail/store.ts'
import { sweepSteps } from '../../mail/sweep-store.ts'
import { mailReads, mailTransactions, mailWrites } from '../operations.ts'
import type { Store } from '../store.ts'
import type { Connections } from './connection/connections.ts'
import {
  DURABILITY,
  type DurabilityRow,
  durabilityFault,
  NotDurable,
} from './connection/durability.ts'
import { asyncMethods, runOperation, transactionMethods } from './connection/operations.ts'
import {
  type CheckedConnectionOptions,
  openCheckedConnections,
} from './connection/server-requirements.ts'
import { addMailWrites } from './mail/add-mail.ts'
import { leaseWrites, NOW } from './mail/leases.ts'
import type { Retention } from './mail/mailbox-locks.ts'
import { AHEAD_DAYS } from './mail/partition-key.ts'
import { partitionMaintenance } from './mail/partitions.ts'
import { rawMailReads, rawMailWrites, releaseRaws, serialNumbers } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { resolvedWrites } from './mail/resolved-mail.ts'
import { postgresSessionWrites, sessionReads } from './mail/sessions.ts'

export interface PostgresMailOptions extends CheckedConnectionOptions, Retention {
  limits: ReceiveLimits
  ledgerKey: Uint8Array
  random?: () => number
  /** For how many days ahead partitions are created. */
  aheadDays?: number
}

// raw_id is its partition and serial, see partition-key.ts.
const RAW_MAIL = `raw_mail.bucket = message.raw_id >> 38
  and raw_mail.serial = message.raw_id & ((1::bigint << 38) - 1)`
const USED_BYTES = 'select pg_database_size(current_database()) as bytes'

// It is checked for every mail.
const FAULT_CACHE_MS = 500

/** The mail store of one thread. There is no writer thread: PostgreSQL resolves races. */
export async function openPostgresMail(options: PostgresMailOptions): Promise<Store> {
  return mailStore(await openCheckedConnections(options, 'mail'), options)
}

function mailStore(connections: Connections, options: PostgresMailOptions): Store {
  const { limits, poolMs, operatorMs, random = Math.random, aheadDays = AHEAD_DAYS } = options
  const retention = { poolMs, operatorMs }
  const hmac = openLedgerHmac(options.ledgerKey)
  const deps = { limits, hmac, retention, random, serials: serialNumbers(connections) }

  return {
    ...asyncMethods(connections, mailReads({ rawMail: RAW_MAIL, usedBytes: USED_BYTES, limits })),
    ...asyncMethods(connections, mailWrites),
    ...transactionMethods(connections, mailTransactions(releaseRaws)),
    ...resolvedWrites(connections, deps),
    ...sessionReads(connections),
    ...postgresSessionWrites(connections, hmac, random),
    ...recipientReads(connections, hmac),
    ...rawMailReads(connections),
    ...rawMailWrites(connections),
    ...addMailWrites(connections, deps),
    ...leaseWrites(connections),
    ...sweepWrites(connections, hmac, aheadDays),
    storageFault: throttled(FAULT_CACHE_MS, () => readFault(connections)),
    close: () => connections.close(),
  }
}

const MAINTENANCE_STEPS = 20

function sweepWrites(connections: Connections, hmac: LedgerHmac, aheadDays: number) {
  const maintain = partitionMaintenance(connections, aheadDays)
  let steps = 0

  return {
    async sweep(options: SweepOptions): Promise<boolean> {
      let hasMore = false
      for (const step of sweepSteps(options, { hmac, releaseRaws })) {
        hasMore = (await connections.transaction((db) => runOperation(db, step))) || hasMore
      }
      // Partitions are mostly dropped when all that has expired is deleted, but there may be more of it at every step.
      const isBusy = hasMore && steps % MAINTENANCE_STEPS > 0
      steps += 1
      return isBusy || (await maintain(options.now)) || hasMore
    },

    /** The time, less what this node's clock is ahead of the server's: a wrong clock of one node must not expire data of all. */
    async clampTime(now: Date): Promise<Date> {
      const here = Date.now()
      const [row] = await connections.query<{ there: number }>(`select ${NOW} as there`)
      return new Date(now.getTime() - Math.max(here - (row?.there ?? here), 0))
    },
  }
}

// Half of the sweep's grace period: beyond it one node would delete what another has just stored, or accept mail for sessions
// that have expired for the others.
const WRONG_CLOCK_MS = 30_000

/** The server does not report its free disk space. */
async function readFault(connections: Connections): Promise<StoreFault | undefined> {
  try {
    const before = Date.now()
    const [row] = await connections.query<{ replica: boolean; there: number } & DurabilityRow>(
      `select pg_is_in_recovery() as replica, ${NOW} as there, ${DURABILITY}`,
    )
    const fault = durabilityFault(row) ?? connections.durabilityFault()
    if (fault !== undefined) return { kind: 'unavailable', reason: `PostgreSQL: ${fault}` }
    if (row?.replica) return { kind: 'unavailable', reason: 'PostgreSQL is a read-only replica' }
    const wrongMs = Math.max(before - (row?.there ?? before), (row?.there ?? before) - Date.now())
    if (wrongMs <= WRONG_CLOCK_MS) return undefined
    const seconds = Math.round(wrongMs / 1000)
    return {
      kind: 'unavailable',
      reason: `the clocks of this node and PostgreSQL differ by ${seconds} s`,
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const what = error.cause instanceof NotDurable ? 'PostgreSQL' : 'PostgreSQL cannot be reached'
    return { kind: 'unavailable', reason: `${what}: ${outageCause(error)}` }
  }
}
