import { hasErrorCode } from '../../../core/problem.ts'
import { OPERATOR, POOL } from '../../../core/session.ts'
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

const TABLES = ['message', 'raw_mail'] as const

// Each try meets at most one day that was not there, and while it is made a session may be extended to the next.
const TRIES = 5

/**
 * Runs a deed that puts mail into buckets and notes them. One without a partition, which the sweep has not made yet, is
 * made, and the deed done again.
 */
export async function withPartitions<T>(
  pool: Connections,
  operation: (db: Transaction, used: Set<number>) => Promise<T>,
): Promise<T> {
  for (let left = TRIES; ; left -= 1) {
    const used = new Set<number>()
    try {
      return await pool.transaction((db) => operation(db, used))
    } catch (error) {
      if (!isMissingPartition(error) || left === 0) throw error
      for (const bucket of used) await pool.transaction((db) => createPartition(db, bucket))
    }
  }
}

// Nobody notices one step.
const MADE_A_STEP = 4
// Clocks of nodes differ: what is over by ours may take mail or be extended by another's.
const GRACE_MS = 3_600_000
const RETRY_MS = 60_000

/** Keeps partitions ready for days to come and drops those of days that are over. */
export function partitionMaintenance(pool: Connections, aheadDays: number) {
  let notBefore = 0

  return {
    /** One small step; true when there is more to do. */
    async maintain(now: Date): Promise<boolean> {
      const there = new Set(await listPartitions(pool))
      const wanted = Array.from({ length: aheadDays + 1 }, (_, days) => dayOf(now) + days)
      const missing = wanted.filter((bucket) => bucket < FAR_PARTITION && !there.has(bucket))
      for (const bucket of missing.slice(0, MADE_A_STEP)) {
        await pool.transaction((db) => createPartition(db, bucket))
      }
      const over = [...there].filter((bucket) => endOf(bucket) + GRACE_MS <= now.getTime())
      const [oldest] = over.toSorted((one, next) => one - next)
      let dropped = 0
      if (oldest !== undefined && now.getTime() >= notBefore) {
        dropped = (await dropPartition(pool, oldest)) ? 1 : 0
        notBefore = dropped === 1 ? 0 : now.getTime() + RETRY_MS
      }
      return missing.length > MADE_A_STEP || (dropped === 1 && over.length > 1)
    },
  }
}

/** Of all days that have a partition; FAR is not among them. */
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

/** Made apart and then attached: to make them in place would lock out everybody for the moment. */
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

const LOCK_MS = 100

/**
 * Drops a day's mail whole, within the moment that takes. False when it has to wait: somebody reads the tables for long,
 * as a backup does, or a session of that day is not cleared.
 */
async function dropPartition(pool: Connections, bucket: number): Promise<boolean> {
  try {
    await pool.transaction(async (db) => {
      await acquireLock(db, PARTITION_LOCK)
      // While the drop waits for its locks, all others wait behind it.
      await db.queryUnprepared(`set local lock_timeout = ${LOCK_MS}`)
      for (const box of await lockSharedMailboxes(db, [POOL, OPERATOR]))
        await countOffPartition(db, box, bucket)
      const names = TABLES.map((table) => `mail.${table}_${bucket}`)
      await db.queryUnprepared(`drop table if exists ${names.join(', ')}`)
      // Looked at with the tables locked: nobody can put mail there between this look and the end.
      const [live] = await db.queryUnprepared(
        `select 1 from mail.session
         where not cleared and expires_at < ${endOf(bucket)} and bucket = ${bucket} limit 1`,
      )
      if (live) throw new StillHeld()
    })
    return true
  } catch (error) {
    if (error instanceof StillHeld || hasErrorCode(error, '55P03')) return false
    throw error
  }
}

class StillHeld extends Error {}

/** Mail of a shared box is counted off when its time is over; here only what was to stay shorter when it came. */
async function countOffPartition(db: Db, box: SharedRow, bucket: number): Promise<void> {
  if (!box.buckets.includes(bucket)) return
  const due = `select ${COUNTED_COLUMNS} from mail.message
    where mailbox = ${box.id} and bucket = ${bucket} and not ${expiredCondition(box)}`
  const set = `buckets = array_remove(box.buckets, ${bucket}),`
  await db.queryUnprepared(subtractCounts(box.id, due, { set }))
}
