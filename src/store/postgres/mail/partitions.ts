import { hasErrorCode } from '../../../base/problem.ts'
import { OPERATOR, POOL } from '../../../mail/rules/session.ts'
import type { Connections, Db, Transaction } from '../connection/connections.ts'
import { isMissingPartition } from '../connection/errors.ts'
import { acquireLock, PARTITION_LOCK } from '../migrate.ts'
import { dayOf, endOf, FAR_PARTITION } from './partition-key.ts'
import {
  COUNTED_COLUMNS,
  expiredCondition,
  lockSharedMailboxes,
  type SharedRow,
  subtractCounts,
} from './shared-mailboxes.ts'

// In the order in which the insert of mail locks them.
const TABLES = ['raw_mail', 'message'] as const

// Each try finds at most one missing partition; while that is created, a session may be extended to the next day.
const TRIES = 5

/**
 * Runs a transaction that adds the partitions it writes to to `used`. If one is missing, because the sweep has not created it
 * yet, it is created and the transaction is run again.
 */
export async function withPartitions<T>(
  connections: Connections,
  operation: (db: Transaction, used: Set<number>) => Promise<T>,
): Promise<T> {
  for (let left = TRIES; ; left -= 1) {
    const used = new Set<number>()
    try {
      return await connections.transaction((db) => operation(db, used))
    } catch (error) {
      if (!isMissingPartition(error) || left === 0) throw error
      for (const bucket of used) await connections.transaction((db) => createPartition(db, bucket))
    }
  }
}

const CREATED_PER_STEP = 4
// The clocks of nodes differ: by another's clock the day may not be over.
const GRACE_MS = 3_600_000
const RETRY_MS = 60_000

// For each lock on the tables: while one is waited for, all other queries wait behind it. It doubles at each retry.
const LOCK_MS = 10
const MAX_LOCK_MS = 100

/** Creates the partitions of the days ahead and drops those of past days, in one small step; true if there is more to do. */
export function partitionMaintenance(connections: Connections, aheadDays: number) {
  let notBefore = 0
  let lockMs = LOCK_MS

  return async (now: Date): Promise<boolean> => {
    const there = new Set(await listPartitions(connections))
    const wanted = Array.from({ length: aheadDays + 1 }, (_, days) => dayOf(now) + days)
    const missing = wanted.filter((bucket) => bucket < FAR_PARTITION && !there.has(bucket))
    for (const bucket of missing.slice(0, CREATED_PER_STEP)) {
      await connections.transaction((db) => createPartition(db, bucket))
    }
    const over = [...there].filter((bucket) => endOf(bucket) + GRACE_MS <= now.getTime())
    const [oldest] = over.toSorted((one, next) => one - next)
    let dropped = false
    if (oldest !== undefined && now.getTime() >= notBefore) {
      dropped = await dropPartition(connections, oldest, lockMs)
      notBefore = dropped ? 0 : now.getTime() + RETRY_MS
      lockMs = dropped ? LOCK_MS : Math.min(lockMs * 2, MAX_LOCK_MS)
    }
    return missing.length > CREATED_PER_STEP || (dropped && over.length > 1)
  }
}

/** The days that have a partition, without FAR_PARTITION. */
export async function listPartitions(db: Db): Promise<number[]> {
  const rows = await db.query<{ name: string }>(
    `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'mail.message'::regclass`,
  )
  return rows.flatMap(({ name }) => {
    const bucket = Number(name.slice('message_'.length))
    return Number.isInteger(bucket) ? [bucket] : []
  })
}

/** Created first and then attached, because creating it as a partition would lock the whole table. */
async function createPartition(db: Db, bucket: number): Promise<void> {
  await acquireLock(db, PARTITION_LOCK)
  const there = await listPartitions(db)
  if (there.includes(bucket) || bucket === FAR_PARTITION) return
  for (const table of TABLES) {
    const name = `mail.${table}_${bucket}`
    await db.queryUnprepared(`create table ${name} (like mail.${table} including all)`)
    await db.queryUnprepared(
      `alter table mail.${table} attach partition ${name} for values in (${bucket})`,
    )
  }
}

/**
 * Drops the mail of a day. False if it has to wait: because of a long read, such as a backup, or a session of that day that is
 * not swept.
 */
async function dropPartition(
  connections: Connections,
  bucket: number,
  lockMs: number,
): Promise<boolean> {
  try {
    await connections.transaction(async (db) => {
      await acquireLock(db, PARTITION_LOCK)
      // Writers that need a new partition wait behind this transaction.
      await db.queryUnprepared(`set local lock_timeout = ${MAX_LOCK_MS}`)
      for (const box of await lockSharedMailboxes(db, [POOL, OPERATOR]))
        await countOffPartition(db, box, bucket)
      db.queueBeforeCommit(() => db.queryUnprepared(dropTables(bucket, lockMs)))
    })
    return true
  } catch (error) {
    if (hasErrorCode(error, '55P03')) return false
    throw error
  }
}

/**
 * One statement, sent with COMMIT: while it has the tables locked, all other queries wait. Sessions are checked after that, so
 * that no mail can be added before the commit. The files are removed after the commit, when the locks are released.
 */
function dropTables(bucket: number, lockMs: number): string {
  const names = TABLES.map((table) => `mail.${table}_${bucket}`)
  return `do $$ begin
    set local lock_timeout = ${lockMs};
    drop table if exists ${names.join(', ')};
    if exists (select 1 from mail.session
      where not cleared and expires_at < ${endOf(bucket)} and bucket = ${bucket}) then
      raise lock_not_available;
    end if;
  end $$`
}

/** Expired mail of a shared mailbox is subtracted before; this is for mail stored when retention was shorter. */
async function countOffPartition(db: Db, box: SharedRow, bucket: number): Promise<void> {
  if (!box.buckets.includes(bucket)) return
  const due = `select ${COUNTED_COLUMNS} from mail.message
    where mailbox = ${box.id} and bucket = ${bucket} and not ${expiredCondition(box)}`
  const set = `buckets = array_remove(box.buckets, ${bucket}),`
  await db.queryUnprepared(subtractCounts(box.id, due, { set }))
}
