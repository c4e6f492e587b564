import type { Address } from '../../../core/address.ts'
import type { MailboxId, Session } from '../../../core/session.ts'
import type { MailScan, ScannedPage, SessionQuery } from '../../operator-store.ts'
import { type SessionRow, sessionOf } from '../../rows.ts'
import type { Db } from '../files.ts'

interface ScannedRow {
  mailbox: MailboxId
  id: number
  size: number
  matches: number
}

export function operatorReads(db: Db) {
  const live = 'token_hash is not null and expires_at > ?'
  const listed = (order: string) =>
    db.prepare<[number, number], SessionRow>(
      `select * from session where ${live} order by ${order} limit +?`,
    )
  // Ids of sessions follow the clock.
  const lists = { newest: listed('id desc'), largest: listed('bytes desc, id desc') }
  const byAddress = db.prepare<[number, string], SessionRow>(
    `select * from session where ${live} and address = ?`,
  )
  const countAll = db
    .prepare<[], number>(
      `select coalesce(sum(count), 0) from (
         select count from session union all select count from shared_mailbox)`,
    )
    .pluck()
  // A scan of all messages: an index by client would cost at every mail received.
  const page = db.prepare<[string, number, number, number], ScannedRow>(
    `select mailbox, message.id, size, client_ip = ? as matches
     from message cross join raw_mail on raw_mail.id = raw_id
     where (mailbox, message.id) > (?, ?) order by mailbox, message.id limit +?`,
  )

  return {
    listSessions: ({ order, limit, now }: SessionQuery): Session[] =>
      lists[order].all(now.getTime(), limit).map(sessionOf),

    findSessionByAddress(address: Address, now: Date): Session | undefined {
      const row = byAddress.get(now.getTime(), address)
      return row && sessionOf(row)
    },

    countMail: (): number => countAll.get() ?? 0,

    scanMail({ clientIp, after, limit }: MailScan): ScannedPage {
      const rows = page.all(clientIp, after?.mailbox ?? 0, after?.id ?? 0, limit)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return {
        found: rows
          .filter(({ matches }) => matches === 1)
          .map(({ mailbox, id, size }) => ({ mailbox, id, size })),
        scanned: rows.length,
        next: last && { partition: 0, mailbox: last.mailbox, id: last.id },
      }
    },
  }
}
