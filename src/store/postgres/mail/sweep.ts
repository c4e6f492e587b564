import { seriesTransactions } from '../../../admin/series/store.ts'
import { ENDED_BLOCK_MS, ENDED_BLOCKS_PER_STEP } from '../../../blocks/store.ts'
import { endUnknownLedger, pruneLedger } from '../../../mail/ledger-store.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import { type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import type { SweepOptions } from '../../../mail/store.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { runOperation } from '../connection/operations.ts'
import { NOW } from './leases.ts'
import { dayOf, FAR_PARTITION } from './partition-key.ts'
import { partitionMaintenance } from './partitions.ts'
import { releaseRaw, releaseRaws } from './raw-mail.ts'
import { expiredCondition, expireShared, lockSharedMailboxes } from './shared-mailboxes.ts'

// Few enough not to delay mail.
const MESSAGES_PER_STEP = 200
const SESSIONS_PER_STEP = 200
// Deleting large mails takes as long as writing them: 200 could exceed the statement timeout.
const BYTES_PER_STEP = 64 * 1024 * 1024

// Reads check the expiry themselves; the sweep waits, so that it does not race with mail or extensions in flight.
const GRACE_MS = 60_000

interface DueSession {
  id: MailboxId
  bucket: number
  keyed: boolean
  count: number
}

export function sweepWrites(connections: Connections, hmac: LedgerHmac, aheadDays: number) {
  const maintain = partitionMaintenance(connections, aheadDays)

  return {
    /** One small step; true if there may be more to do. */
    async sweep({
      now: requested,
      cooldownMs,
      poolMs,
      operatorMs,
      poolOff = false,
    }: SweepOptions): Promise<boolean> {
      const now = await clampToServer(connections, requested)
      const time = now.getTime()
      const ended = await connections.transaction((db) => clearEnded(db, now))
      const unreserved = await deleteUnreserved(connections, time - cooldownMs)
      const blocks = await deleteEndedBlocks(connections, time - ENDED_BLOCK_MS)
      let left = MESSAGES_PER_STEP - ended.messages
      for (const [mailbox, retentionMs] of [
        [POOL, poolMs],
        [OPERATOR, operatorMs],
      ] as const) {
        left -= await connections.transaction(async (db) => {
          await expireShared(db, mailbox, time - retentionMs)
          return await clearFar(db, mailbox, left)
        })
      }
      await connections.transaction((db) => runOperation(db, endUnknownLedger(now)))
      const prune = () => connections.transaction((db) => runOperation(db, pruneLedger(hmac)))
      const moreEntries = poolOff && (await prune())
      const moreDays = await maintain(now)
      const moreRows =
        ended.sessions + unreserved >= SESSIONS_PER_STEP || blocks >= ENDED_BLOCKS_PER_STEP
      return moreDays || left <= 0 || moreRows || moreEntries
    },

    async sweepSeries(requested: Date): Promise<void> {
      const now = await clampToServer(connections, requested)
      await connections.transaction((db) => runOperation(db, seriesTransactions.sweepSeries(now)))
    },
  }
}

/** The time, less what this node's clock is ahead of the server's: a wrong clock of one node must not expire data of all. */
async function clampToServer(db: Db, now: Date): Promise<Date> {
  const here = Date.now()
  const [row] = await db.query<{ there: number }>(`select ${NOW} as there`)
  return new Date(now.getTime() - Math.max(here - (row?.there ?? here), 0))
}

/**
 * Hides the mail of expired sessions. It is deleted when its partition is dropped; only if that is not soon, because the session
 * ended before its due day or is in FAR_PARTITION, it is deleted here.
 */
async function clearEnded(db: Db, now: Date): Promise<{ sessions: number; messages: number }> {
  // Sessions that are being changed are left for the next step.
  const due = await db.query<DueSession>(
    `select id, bucket, key_id is not null as keyed, count from mail.session
     where not cleared and expires_at <= $1 order by expires_at limit ${SESSIONS_PER_STEP}
     for no key update skip locked`,
    [now.getTime() - GRACE_MS],
  )
  // This changes what a key sees: all such changes take the pool's lock, see mailbox-locks.ts.
  if (due.some(({ keyed, count }) => keyed && count > 0)) await lockSharedMailboxes(db, [POOL])
  let left = MESSAGES_PER_STEP
  let leftBytes = BYTES_PER_STEP
  const empty: DueSession[] = []
  const raws: { bucket: number; serial: number }[] = []
  for (const session of due) {
    const { id, bucket, count } = session
    if (bucket > dayOf(now) && count > 0) {
      const gone = await deleteSome(db, { bucket, where: `mailbox = ${id}` }, left)
      raws.push(...gone.map(({ serial }) => ({ bucket, serial })))
      leftBytes -= gone.reduce((sum, { size }) => sum + size, 0)
      left = leftBytes > 0 ? left - gone.length : 0
    }
    if (left <= 0) break
    empty.push(session)
  }
  await finish(db, empty)
  // All at once, so that they are locked in the same order as by an extend.
  await releaseRaws(db, raws)
  return { sessions: due.length, messages: MESSAGES_PER_STEP - left }
}

async function finish(db: Db, sessions: readonly DueSession[]): Promise<void> {
  const ids = sessions.map(({ id }) => id)
  await db.query('delete from mail.session where id = any($1::bigint[]) and address is null', [ids])
  await db.query(
    `update mail.session set cleared = true, count = 0, bytes = 0,
       version = version + case when count > 0 then 1 else 0 end
     where id = any($1::bigint[])`,
    [ids],
  )
}

async function deleteUnreserved(db: Db, until: number): Promise<number> {
  const gone = await db.query(
    `delete from mail.session where id in (select id from mail.session
       where cleared and expires_at <= $1 order by expires_at limit ${SESSIONS_PER_STEP}
       for update skip locked) returning id`,
    [until],
  )
  return gone.length
}

async function deleteEndedBlocks(db: Db, until: number): Promise<number> {
  const gone = await db.query(
    `delete from mail.block_entry where entry in (select entry from mail.block_entry
       where expires_at < $1 and created_at < $1 limit ${ENDED_BLOCKS_PER_STEP}) returning entry`,
    [until],
  )
  return gone.length
}

async function clearFar(db: Db, mailbox: MailboxId, most: number): Promise<number> {
  const [box] = await lockSharedMailboxes(db, [mailbox])
  if (!box?.buckets.includes(FAR_PARTITION) || most <= 0) return 0
  const gone = await deleteSome(db, { bucket: FAR_PARTITION, where: expiredCondition(box) }, most)
  await releaseRaw(
    db,
    FAR_PARTITION,
    gone.map(({ serial }) => serial),
  )
  return gone.length
}

/** Deletes up to `most` messages of one partition. */
async function deleteSome(
  db: Db,
  { bucket, where }: { bucket: number; where: string },
  most: number,
): Promise<{ serial: number; size: number }[]> {
  return await db.queryUnprepared(
    `delete from mail.message where bucket = ${bucket} and (mailbox, id) in (
       select mailbox, id from mail.message
       where bucket = ${bucket} and ${where} order by id limit ${most})
     returning serial, size`,
  )
}
