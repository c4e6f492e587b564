import type { MailboxId } from '../../core/session.ts'
import type { Db } from './connections.ts'
import { releaseRaw } from './raw.ts'

/** Takes all mail of a session, which is locked, from one bucket to another. Bytes that others have too stay there as well. */
export async function changeBucket(
  db: Db,
  mailbox: MailboxId,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const moved = await db.rowsOnce<{ serial: number }>(
    `update mail.message set bucket = ${to} where mailbox = $1 and bucket = ${from}
     returning serial`,
    [mailbox],
  )
  if (moved.length === 0) return
  const serials = moved.map(({ serial }) => serial)
  // Both at once and in one order, so that two who move the same mails, even past each other, wait and no more.
  await db.rowsOnce(
    `select 1 from mail.raw_mail where bucket in (${from}, ${to}) and serial = any($1::bigint[])
     order by serial, bucket for update`,
    [serials],
  )
  // Numbers start over some day: whoever would meet another mail of the same number stays where he is.
  const kept = await db.rowsOnce(
    `insert into mail.raw_mail as there (bucket, serial, refs, client_ip, helo, mail_from, tls,
       protocol, received_at, auth, zstd, parsed)
     select ${to}, serial, 1, client_ip, helo, mail_from, tls, protocol, received_at, auth, zstd, parsed
     from mail.raw_mail where bucket = ${from} and serial = any($1::bigint[]) order by serial
     on conflict (serial, bucket) do update set refs = there.refs + 1
       where there.zstd = excluded.zstd
     returning 1`,
    [serials],
  )
  if (kept.length < moved.length) throw new Error('another mail has the number of one that moves')
  await releaseRaw(db, from, serials)
}
