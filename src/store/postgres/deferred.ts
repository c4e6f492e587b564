import type { Address } from '../../core/address.ts'
import { deferredRetryMs } from '../../core/gmail.ts'
import type { FetchedRecipient, ReceiveLimits } from '../../core/recipient.ts'
import type { MailboxId } from '../../core/session.ts'
import type { DeferredMail, DeferredPlace, DeferredQuery, FetchedMail } from '../store.ts'
import { LIVE_ALIAS } from './accounts.ts'
import type { Db } from './connections.ts'

interface DeferredRow {
  uid: number
  address: Address
  mailboxes: string
  wanted: boolean
}

export function deferredReads(db: Db, { mailbox: { maxMessages, maxBytes } }: ReceiveLimits) {
  return {
    async listDeferred(query: DeferredQuery): Promise<DeferredMail[]> {
      const { accountId, folder, uidValidity, now, limit } = query
      const rows = await db.rows<DeferredRow>(
        `select uid, min(mail.address) as address, json_agg(mailbox)::text as mailboxes,
           bool_or(session.id is not null) as wanted
         from mail.gmail_deferred as mail
         left join (select * from mail.session where ${LIVE_ALIAS}) as session
           on session.id = mail.mailbox
         where mail.account_id = $1 and folder = $3 and uid_validity = $4 and next_at <= $2
         group by uid
         having not bool_or(session.id is not null)
           or bool_or(session.count < $5 and session.bytes + size <= $6)
         order by uid limit $7`,
        [accountId, now.getTime(), folder, uidValidity, maxMessages, maxBytes, limit],
      )
      return rows.map(({ mailboxes, ...row }) => ({
        ...row,
        mailboxes: JSON.parse(mailboxes) as MailboxId[],
      }))
    },
  }
}

export function deferredWrites(db: Db) {
  return {
    async dropDeferred(place: DeferredPlace): Promise<void> {
      const { accountId, folder, uidValidity, uids } = place
      await db.rows(
        `delete from mail.gmail_deferred
         where account_id = $1 and folder = $2 and (uid_validity <> $3 or uid = any($4::bigint[]))`,
        [accountId, folder, uidValidity, uids],
      )
    },
  }
}

/** In place of those who were full at the last try. */
export async function defer(
  db: Db,
  mail: FetchedMail,
  { full, size }: { full: readonly FetchedRecipient[]; size: number },
): Promise<void> {
  const { accountId, folder, uid, now } = mail
  const place = [accountId, folder, mail.state.uidValidity, uid]
  const former = await db.rows<{ tries: number }>(
    `delete from mail.gmail_deferred
     where account_id = $1 and folder = $2 and uid_validity = $3 and uid = $4 returning tries`,
    place,
  )
  if (full.length === 0) return
  const tries = Math.max(-1, ...former.map((row) => row.tries)) + 1
  const mailboxes = full.map(({ mailbox }) => mailbox)
  const addresses = full.map(({ address }) => address)
  await db.rows(
    `insert into mail.gmail_deferred
     select $1, $2, $3, $4, mailbox, address, $7, $8, $9
     from unnest($5::bigint[], $6::text[]) as recipient (mailbox, address)`,
    [...place, mailboxes, addresses, size, tries, now.getTime() + deferredRetryMs(tries)],
  )
}
