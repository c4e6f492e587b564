import { type ScannedRow, scannedPage } from '../../mail/operator.ts'
import type { MailScan, ScannedPage } from '../../operator-store.ts'
import type { Db } from '../files.ts'

export function scanReads(db: Db) {
  // A scan of all messages: an index by client would cost at every mail received.
  const page = db.prepare<[string, number, number, number], ScannedRow>(
    `select mailbox, message.id, size, client_ip = ? as matches
     from message cross join raw_mail on raw_mail.id = raw_id
     where (mailbox, message.id) > (?, ?) order by mailbox, message.id limit +?`,
  )

  return {
    scanMail({ clientIp, after, limit }: MailScan): ScannedPage {
      const rows = page.all(clientIp, after?.mailbox ?? 0, after?.id ?? 0, limit)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return scannedPage(rows, last && { partition: 0, mailbox: last.mailbox, id: last.id })
    },
  }
}
