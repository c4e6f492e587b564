import { hasErrorCode } from '../../../base/problem.ts'
import type { Connections, Db, Transaction } from '../connection/connections.ts'
import { MissingPartition } from '../connection/errors.ts'
import { acquireLock, PARTITION_LOCK } from '../migrate.ts'
import { dayOf, endOf, FAR_PARTITION, rawIdOf } from './partition-key.ts'

// For one partition: a node whose clock is ahead may drop it again.
const TRIES = 5

/**
 * Runs a transaction. If a partition is missing, because the sweep has not created it yet, it is created and the transaction run
 * again: as often as there are partitions missing, since each try finds one.
 */
export async function withPartitions<T>(
  connections: Connections,
  operation: (db: Transaction) => Promise<T>,
  created: readonly number[] = [],
): Promise<T> {
  try {
    return await connections.transaction(operation)
  } catch (error) {
    if (!(error instanceof MissingPartition)) throw error
    const { bucket } = error
    if (created.filter((one) => one === bucket).length === TRIES) throw error
    await connections.transaction((db) => createPartition(db, bucket))
    return await withPartitions(connections, operation, [...created, bucket])
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
    let dropped = false
    const unneeded = now.getTime() < notBefore ? undefined : await findUnneeded(connections, over)
    if (unneeded !== undefined) {
      dropped = await dropPartition(connections, unneeded, lockMs)
      notBefore = dropped ? 0 : now.getTime() + RETRY_MS
      lockMs = dropped ? LOCK_MS : Math.min(lockMs * 2, MAX_LOCK_MS)
    }
    return missing.length > CREATED_PER_STEP || (dropped && over.length > 1)
  }
}

/** The days that have a partition, without FAR_PARTITION. */
async function listPartitions(db: Db): Promise<number[]> {
  const rows = await db.query<{ name: string }>(
    `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = 'mail.raw_mail'::regclass`,
  )
  return rows.flatMap(({ name }) => {
    const bucket = Number(name.slice('raw_mail_'.length))
    return Number.isInteger(bucket) ? [bucket] : []
  })
}

/** The oldest of these partitions that may be dropped. One that is needed for long does not delay the others. */
async function findUnneeded(db: Db, buckets: readonly number[]): Promise<number | undefined> {
  if (buckets.length === 0) return undefined
  const [row] = await db.query<{ bucket: number }>(
    `select bucket from unnest($1::bigint[]) as bucket where not (${isNeeded('bucket')})
     order by bucket limit 1`,
    [buckets],
  )
  return row?.bucket
}

/**
 * A condition: mail of a session is in no partition that ends before the session does, and that of a shared mailbox is due at the
 * end of its partition, unless the retention was shorter when it arrived.
 */
function isNeeded(bucket: string): string {
  // With `exists`, sessions would be read one by one: the planner does not know that few are over.
  return `coalesce((select min(expires_at) from mail.session where not cleared)
      < (${bucket} + 1) * ${endOf(0)}::bigint, false)
    or exists (select 1 from mail.message where mailbox <= 2
      and raw_id >= ${bucket} * ${rawIdOf(1, 0)} and raw_id < (${bucket} + 1) * ${rawIdOf(1, 0)})`
}

/** Created first and then attached, because creating it as a partition would lock the whole table. */
async function createPartition(db: Db, bucket: number): Promise<void> {
  await acquireLock(db, PARTITION_LOCK)
  const there = await listPartitions(db)
  if (there.includes(bucket) || bucket === FAR_PARTITION) return
  const name = `mail.raw_mail_${bucket}`
  await db.queryUnprepared(`create table ${name} (like mail.raw_mail including all)`)
  await db.queryUnprepared(
    `alter table mail.raw_mail attach partition ${name} for values in (${bucket})`,
  )
}

/** Drops the raw mail of a day. False if it has to wait: because of a long read, such as a backup, or because it is still needed. */
async function dropPartition(
  connections: Connections,
  bucket: number,
  lockMs: number,
): Promise<boolean> {
  try {
    await connections.transaction(async (db) => {
      await acquireLock(db, PARTITION_LOCK)
      db.queueBeforeCommit(() => db.queryUnprepared(dropTable(bucket, lockMs)))
    })
    return true
  } catch (error) {
    if (hasErrorCode(error, '55P03')) return false
    throw error
  }
}

/**
 * One statement, sent with COMMIT: while it has the table locked, all other queries wait. Whether the partition is needed is
 * checked again after that, so that no mail can be added before the commit. The files are removed after the commit, when the
 * locks are released.
 */
function dropTable(bucket: number, lockMs: number): string {
  return `do $$ begin
    set local lock_timeout = ${lockMs};
    drop table if exists mail.raw_mail_${bucket};
    if ${isNeeded(String(bucket))} then
      raise lock_not_available;
    end if;
  end $$`
}
