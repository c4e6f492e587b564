import type { MailboxId } from '../../../core/session.ts'
import { type ScannedRow, scannedPage } from '../../mail/operator.ts'
import type { MailScan, ScannedPage } from '../../operator-store.ts'
import type { Db } from '../connection/connections.ts'
import { FAR_PARTITION } from './partition-key.ts'
import { listPartitions } from './partitions.ts'

const START = { mailbox: 0 as MailboxId, id: 0 }

export function scanReads(db: Db) {
  return {
    /** One partition after the other, those that are dropped first come first. */
    async scanMail({ clientIp, after, limit }: MailScan): Promise<ScannedPage> {
      const buckets = [...(await listPartitions(db)), FAR_PARTITION].sort((one, next) => one - next)
      const left = buckets.filter((bucket) => bucket >= (after?.partition ?? 0))
      const [bucket = FAR_PARTITION, nextPartition] = left
      const from = after?.partition === bucket ? after : START
      const rows = await db.queryUnprepared<ScannedRow>(
        `select message.mailbox, message.id, message.size, raw.client_ip = $1 as matches
         from mail.message join mail.raw_mail as raw
           on raw.bucket = ${bucket} and raw.serial = message.serial
         where message.bucket = ${bucket}
           and (message.mailbox, message.bucket, message.id) > ($2::bigint, ${bucket}, $3::bigint)
         order by message.mailbox, message.bucket, message.id limit $4::integer`,
        [clientIp, from.mailbox, from.id, limit],
      )
      const last = rows.at(-1)
      if (rows.length === limit && last) {
        return scannedPage(rows, { partition: bucket, mailbox: last.mailbox, id: last.id })
      }
      return scannedPage(
        rows,
        nextPartition === undefined ? undefined : { ...START, partition: nextPartition },
      )
    },
  }
}
