import { levelReads, seriesReads, seriesTransactions } from '../../admin/series/store.ts'
import { Problem } from '../../base/problem.ts'
import { blockReads, blockTransactions } from '../../blocks/store.ts'
import { checkRunReads, checkRunWrites } from '../../doctor/store.ts'
import { accountReads, accountWrites } from '../../gmail/account-store.ts'
import { deferredWrites, fetchReads } from '../../gmail/fetched-mail-store.ts'
import { domainReads, domainWrites } from '../../mail/domain-store.ts'
import { ledgerReads, ledgerWrites } from '../../mail/ledger-store.ts'
import { operatorReads } from '../../mail/operator-store.ts'
import { openLedgerHmac } from '../../mail/rules/ledger.ts'
import type { ReceiveLimits } from '../../mail/rules/recipient.ts'
import type { StoreFault } from '../../mail/store.ts'
import type { Store } from '../store.ts'
import { throttled } from '../throttled.ts'
import type { Connections } from './connection/connections.ts'
import {
  DURABILITY,
  type DurabilityRow,
  durabilityFault,
  NotDurable,
} from './connection/durability.ts'
import { asyncMethods, transactionMethods } from './connection/operations.ts'
import {
  type CheckedConnectionOptions,
  openCheckedConnections,
} from './connection/server-requirements.ts'
import { addMailWrites } from './mail/add-mail.ts'
import { fetchWrites } from './mail/fetched-mail.ts'
import { keyMailReads } from './mail/key-mail.ts'
import { leaseWrites, NOW } from './mail/leases.ts'
import type { Retention } from './mail/mailbox-locks.ts'
import { messageReads, messageWrites, scanReads } from './mail/messages.ts'
import { AHEAD_DAYS, openPartitionCache } from './mail/partition-key.ts'
import { rawMailReads, rawMailWrites, serialNumbers } from './mail/raw-mail.ts'
import { recipientReads } from './mail/recipients.ts'
import { LIVE, sessionReads, sessionWrites } from './mail/sessions.ts'
import { sharedReads } from './mail/shared-mailboxes.ts'
import { sweepWrites } from './mail/sweep.ts'

export interface PostgresMailOptions extends CheckedConnectionOptions, Retention {
  limits: ReceiveLimits
  ledgerKey: Uint8Array
  random?: () => number
  /** For how many days ahead partitions are created. */
  aheadDays?: number
}

// It is checked for every mail.
const FAULT_CACHE_MS = 500

/** The mail store of one thread. There is no writer thread: PostgreSQL resolves races. */
export async function openPostgresMail(options: PostgresMailOptions): Promise<Store> {
  return mailStore(await openCheckedConnections(options, 'mail'), options)
}

function mailStore(connections: Connections, options: PostgresMailOptions): Store {
  const { limits, poolMs, operatorMs, random = Math.random, aheadDays = AHEAD_DAYS } = options
  const partitions = openPartitionCache()
  const retention = { poolMs, operatorMs }
  const hmac = openLedgerHmac(options.ledgerKey)
  const deps = { limits, hmac, retention, random, serials: serialNumbers(connections) }

  return {
    ...asyncMethods(connections, {
      ...domainReads,
      ...accountReads(LIVE),
      ...fetchReads(LIVE, limits),
      ...operatorReads(LIVE),
      ...seriesReads,
      ...levelReads('select pg_database_size(current_database()) as bytes'),
      ...blockReads,
      ...checkRunReads,
      ...ledgerReads,
    }),
    ...asyncMethods(connections, {
      ...domainWrites,
      ...accountWrites,
      ...deferredWrites,
      ...checkRunWrites,
      ...ledgerWrites,
    }),
    ...transactionMethods(connections, {
      saveMinute: seriesTransactions.saveMinute,
      ...blockTransactions,
    }),
    ...fetchWrites(connections, deps),
    ...sessionReads(connections, partitions),
    ...sessionWrites(connections, hmac, random),
    ...recipientReads(connections, hmac),
    ...sharedReads(connections),
    ...messageReads(connections, partitions),
    ...messageWrites(connections),
    ...keyMailReads(connections, partitions),
    ...rawMailReads(connections),
    ...rawMailWrites(connections),
    ...addMailWrites(connections, deps),
    ...scanReads(connections),
    ...leaseWrites(connections),
    ...sweepWrites(connections, hmac, aheadDays),
    storageFault: throttled(FAULT_CACHE_MS, () => readFault(connections)),
    close: () => connections.close(),
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
    const { cause } = error
    const isUnsafe = cause instanceof NotDurable
    const reason = isUnsafe ? `PostgreSQL: ${cause.message}` : 'PostgreSQL cannot be reached'
    return { kind: 'unavailable', reason }
  }
}
