import type { Volume } from '../../../mail/operator-store.ts'
import type { MailboxUsage } from '../../../mail/rules/recipient.ts'
import type { Mailbox, MailboxId } from '../../../mail/rules/session.ts'
import type { Db } from '../connection/connections.ts'
import { partitionList } from './partition-key.ts'
import { releaseRaws } from './raw-mail.ts'

export interface SharedRow {
  id: MailboxId
  version: number
  last_id: number
  count: number
  /** As stored. */
  bytes: number
  buckets: number[]
  gone_at: number
  gone_id: number
}

export const SHARED_COLUMNS = 'id, version, last_id, count, bytes, buckets, gone_at, gone_id'

/** A message that has not expired; needs the mailbox as `box`. */
export const NOT_EXPIRED = 'not (received_at <= box.gone_at and message.id <= box.gone_id)'

/** What a message counts in its mailbox. Mail that version 0.1.0 stored after the migration counts by its size. */
export const COUNTED_COLUMNS = 'sender_network, coalesce(stored, size) as stored'

/** In the order of ids, and after any sessions, so that transactions cannot deadlock. */
export async function lockSharedMailboxes(
  db: Db,
  mailboxes: readonly MailboxId[],
): Promise<SharedRow[]> {
  return await db.query<SharedRow>(
    `select ${SHARED_COLUMNS} from mail.shared_mailbox where id = any($1::bigint[])
     order by id for no key update`,
    [mailboxes],
  )
}

export function sharedReads(db: Db) {
  return {
    async readSharedMailbox(mailbox: MailboxId): Promise<Mailbox> {
      const [row] = await db.query<SharedRow>(
        `select ${SHARED_COLUMNS} from mail.shared_mailbox where id = $1`,
        [mailbox],
      )
      if (!row) throw new Error(`mailbox ${mailbox} is not a shared one`)
      const { id, version, last_id: lastId, count, bytes } = row
      return { id, version, lastId, count, bytes }
    },
  }
}

interface Share extends MailboxUsage {
  sender_network: string
  mailbox: MailboxId
}

/** The shares of these networks. Exact while the shared mailboxes are locked: nothing else changes these rows. */
export async function readShares(db: Db, networks: readonly string[]): Promise<Share[]> {
  return await db.query<Share>(
    `select sender_network, mailbox, count, bytes from mail.sender_share
     where sender_network = any($1::text[])`,
    [networks],
  )
}

/**
 * Subtracts messages from the counters of a locked shared mailbox and of their senders. `due` selects COUNTED_COLUMNS of them;
 * `set` is what else changes in the mailbox, where `total.count` is their number.
 */
export function subtractCounts(mailbox: MailboxId, due: string, { set = '', where = 'true' } = {}) {
  return `with due as materialized (${due}), less as (
      select sender_network, count(*) as count, sum(stored) as bytes from due group by sender_network
    ), ended as (
      delete from mail.sender_share as share using less
      where share.mailbox = ${mailbox} and share.sender_network = less.sender_network
        and share.count <= less.count
    ), lowered as (
      update mail.sender_share as share
      set count = share.count - less.count, bytes = share.bytes - less.bytes from less
      where share.mailbox = ${mailbox} and share.sender_network = less.sender_network
        and share.count > less.count
    )
    update mail.shared_mailbox as box set ${set} version = version + least(total.count, 1),
      count = box.count - total.count, bytes = box.bytes - total.bytes
    from (select count(*), coalesce(sum(stored), 0) as bytes from due) as total
    where box.id = ${mailbox} and ${where}
    returning total.count`
}

/** Deletes messages of a shared mailbox, their counts, and raw mail without other references. */
export async function deleteFromShared(
  db: Db,
  mailbox: MailboxId,
  ids: readonly number[],
): Promise<Volume> {
  const none = { messages: 0, bytes: 0 }
  const [box] = await lockSharedMailboxes(db, [mailbox])
  if (!box) return none
  const gone = await db.queryUnprepared<{
    bucket: number
    serial: number
    size: number
    sender_network: string | null
    stored: number
  }>(
    `delete from mail.message where mailbox = ${mailbox} and id = any($1::bigint[])
       and bucket in (${partitionList(box.buckets.join(','))}) and not ${expiredCondition(box)}
     returning bucket, serial, size, ${COUNTED_COLUMNS}`,
    [ids],
  )
  if (gone.length === 0) return none
  const due = 'select * from unnest($1::text[], $2::integer[]) as due (sender_network, stored)'
  await db.query(subtractCounts(mailbox, due), [
    gone.map((row) => row.sender_network),
    gone.map(({ stored }) => stored),
  ])
  await releaseRaws(db, gone)
  return { messages: gone.length, bytes: gone.reduce((sum, { size }) => sum + size, 0) }
}

/**
 * Expires mail received until a time: it is subtracted from the counters and no longer visible, and deleted with its partition.
 * True if there was any.
 */
export async function expireShared(db: Db, mailbox: MailboxId, until: number): Promise<boolean> {
  const [box] = await lockSharedMailboxes(db, [mailbox])
  if (!box || until <= box.gone_at) return false
  const mail = `from mail.message where mailbox = ${mailbox}
    and bucket in (${partitionList(box.buckets.join(','))})`
  // By time; and by id, mail that arrived since then with an earlier time, because a clock has stepped back.
  const columns = `id, ${COUNTED_COLUMNS}`
  const due = `select ${columns} ${mail} and received_at > ${box.gone_at} and received_at <= ${until}
    union all
    select ${columns} ${mail} and received_at <= ${box.gone_at} and id > ${box.gone_id}`
  const set = `gone_at = ${until}, gone_id = last_id,
    swept_id = greatest(swept_id, (select max(id) from due)),`
  const aged = await db.queryUnprepared(
    subtractCounts(mailbox, due, { set, where: 'total.count > 0' }),
  )
  return aged.length > 0
}

/** Mail that has expired and is no longer visible. */
export function expiredCondition({ id, gone_at: goneAt, gone_id: goneId }: SharedRow): string {
  return `(mailbox = ${id} and received_at <= ${goneAt} and id <= ${goneId})`
}

// Limits: mail received while a clock is behind by more than the retention expires only when the clock has caught up.
