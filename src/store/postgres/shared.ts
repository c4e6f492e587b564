import { type Mailbox, type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import { listOf } from './buckets.ts'
import type { Db } from './pool.ts'

export interface SharedRow {
  id: MailboxId
  version: number
  last_id: number
  count: number
  bytes: number
  buckets: number[]
  gone_at: number
  gone_id: number
}

export const SHARED = 'id, version, last_id, count, bytes, buckets, gone_at, gone_id'

export function isShared(mailbox: MailboxId): boolean {
  return mailbox === POOL || mailbox === OPERATOR
}

/** A message of a shared box that is still there, where the box is at hand. */
export const STILL_THERE = 'not (received_at <= box.gone_at and message.id <= box.gone_id)'

/** In the order of ids, after all sessions that are to be locked: then nobody waits for whom he keeps waiting. */
export async function lockShared(db: Db, mailboxes: readonly MailboxId[]): Promise<SharedRow[]> {
  return await db.rows<SharedRow>(
    `select ${SHARED} from mail.shared_mailbox where id = any($1::bigint[])
     order by id for no key update`,
    [mailboxes],
  )
}

export function sharedReads(db: Db) {
  return {
    async readShared(mailbox: MailboxId): Promise<Mailbox> {
      const [row] = await db.rows<SharedRow>(
        `select ${SHARED} from mail.shared_mailbox where id = $1`,
        [mailbox],
      )
      if (!row) throw new Error(`mailbox ${mailbox} is not a shared one`)
      const { id, version, last_id: lastId, count, bytes } = row
      return { id, version, lastId, count, bytes }
    },
  }
}

/**
 * Lets go of what was received until a time: it is counted off and not seen any more, and lies there until its bucket is
 * dropped. True when any was.
 */
export async function letAge(db: Db, mailbox: MailboxId, until: number): Promise<boolean> {
  const [box] = await lockShared(db, [mailbox])
  if (!box || until <= box.gone_at) return false
  const mail = `from mail.message where mailbox = ${mailbox}
    and bucket in (${listOf(box.buckets.join(','))})`
  // By time; and by id what came since the last look with a time before that, as when a clock has stepped back.
  const [due] = await db.rowsOnce<{ count: number; bytes: number }>(
    `select count(*), coalesce(sum(size), 0)::bigint as bytes from (
       select size ${mail} and received_at > ${box.gone_at} and received_at <= ${until}
       union all
       select size ${mail} and received_at <= ${box.gone_at} and id > ${box.gone_id}) as due`,
  )
  if (!due || due.count === 0) return false
  await db.rows(
    `update mail.shared_mailbox set gone_at = $2, gone_id = last_id, version = version + 1,
       count = count - $3, bytes = bytes - $4 where id = $1`,
    [mailbox, until, due.count, due.bytes],
  )
  return true
}

/** What nobody sees any more. */
export function goneFrom({ id, gone_at: goneAt, gone_id: goneId }: SharedRow): string {
  return `(mailbox = ${id} and received_at <= ${goneAt} and id <= ${goneId})`
}

// Limits: while a clock stands back by more than the time mail is kept, what is received by it goes only when the clock
// has caught up.
