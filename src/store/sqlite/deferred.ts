import type { Address } from '../../core/address.ts'
import { deferredRetryMs } from '../../core/gmail.ts'
import type { FetchedRecipient, ReceiveLimits } from '../../core/recipient.ts'
import type { MailboxId } from '../../core/session.ts'
import type { DeferredMail, DeferredPlace, DeferredQuery, FetchedMail } from '../store.ts'
import { LIVE_ALIAS } from './accounts.ts'
import type { Db } from './files.ts'

interface DeferredRow {
  uid: number
  address: Address
  mailboxes: string
  wanted: number
}

export function deferredReads(db: Db, { mailbox: { maxMessages, maxBytes } }: ReceiveLimits) {
  const due = db.prepare<[Record<string, string | number>], DeferredRow>(
    `select uid, min(mail.address) as address, json_group_array(mailbox) as mailboxes,
       max(session.id is not null) as wanted
     from gmail_deferred as mail left join (select * from session where ${LIVE_ALIAS}) as session
       on session.id = mail.mailbox
     where mail.account_id = @account and folder = @folder and uid_validity = @validity
       and next_at <= @now
     group by uid
     having wanted = 0 or max(session.count < @maxMessages and session.bytes + size <= @maxBytes) = 1
     order by uid limit @limit`,
  )

  return {
    listDeferred({ accountId, folder, uidValidity, now, limit }: DeferredQuery): DeferredMail[] {
      const place = { account: accountId, folder, validity: uidValidity }
      const rows = due.all({ ...place, now: now.getTime(), limit, maxMessages, maxBytes })
      return rows.map(({ uid, address, mailboxes, wanted }) => ({
        uid,
        address,
        mailboxes: JSON.parse(mailboxes) as MailboxId[],
        wanted: wanted === 1,
      }))
    },
  }
}

export function deferredWrites(db: Db) {
  const drop = db
    .prepare<[number, string, number, number], number>(
      `delete from gmail_deferred
       where account_id = ? and folder = ? and uid_validity = ? and uid = ? returning tries`,
    )
    .pluck()
  const dropOthers = db.prepare<[number, string, number]>(
    'delete from gmail_deferred where account_id = ? and folder = ? and uid_validity <> ?',
  )
  const insert = db.prepare('insert into gmail_deferred values (?, ?, ?, ?, ?, ?, ?, ?, ?)')

  return {
    /** In place of those who were full at the last try. */
    defer(mail: FetchedMail, full: readonly FetchedRecipient[]): void {
      const { accountId, folder, uid, raw, now } = mail
      const place = [accountId, folder, mail.state.uidValidity, uid] as const
      const tries = Math.max(-1, ...drop.all(...place)) + 1
      const nextAt = now.getTime() + deferredRetryMs(tries)
      for (const { mailbox, address } of full) {
        insert.run(...place, mailbox, address, raw.length, tries, nextAt)
      }
    },
    dropDeferred({ accountId, folder, uidValidity, uids }: DeferredPlace): void {
      for (const uid of uids) drop.all(accountId, folder, uidValidity, uid)
      dropOthers.run(accountId, folder, uidValidity)
    },
  }
}
