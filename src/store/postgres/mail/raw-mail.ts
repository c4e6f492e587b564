import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib'
import type { MailboxId } from '../../../core/session.ts'
import type { Db } from '../connection/connections.ts'

/** One reference less to each of these raw mails of a bucket, as often as it is named; what has none left is deleted. */
export async function releaseRaw(
  db: Db,
  bucket: number,
  serials: readonly number[],
): Promise<void> {
  if (serials.length === 0) return
  // Locked in the order of serials, and in a statement of its own: the next one sees the counts as they are then.
  await db.query(
    `select serial from mail.raw_mail where bucket = ${bucket} and serial = any($1::bigint[])
     order by serial for update`,
    [serials],
  )
  await db.query(
    `with less as (
       select serial, count(*) as refs from unnest($1::bigint[]) as serial group by serial
     ), deleted as (
       delete from mail.raw_mail as raw using less
       where raw.bucket = ${bucket} and raw.serial = less.serial and raw.refs <= less.refs
     )
     update mail.raw_mail as raw set refs = raw.refs - less.refs from less
     where raw.bucket = ${bucket} and raw.serial = less.serial and raw.refs > less.refs`,
    [serials],
  )
}

/** The same for raw mails of several buckets. */
export async function releaseRaws(
  db: Db,
  gone: readonly { bucket: number; serial: number }[],
): Promise<void> {
  const byBucket = Map.groupBy(gone, ({ bucket }) => bucket)
  if (byBucket.size > 1) {
    // All are locked at once, in the order of raw-mail.ts: two transactions that release some of the same mails cannot deadlock.
    await db.query(
      `select 1 from mail.raw_mail as raw
       where (raw.serial, raw.bucket) in (
         select serial, bucket from unnest($1::bigint[], $2::integer[]) as gone (serial, bucket))
       order by raw.serial, raw.bucket for update`,
      [gone.map(({ serial }) => serial), gone.map(({ bucket }) => bucket)],
    )
  }
  for (const [bucket, rows] of byBucket) {
    const serials = rows.map(({ serial }) => serial)
    await releaseRaw(db, bucket, serials)
  }
}

const options = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const compressAsync = promisify(zstdCompress)
// A door's thread does this: what takes longer than a millisecond is left to Node's own threads.
const LARGE_BYTES = 256 * 1024

export async function compress(bytes: Uint8Array | string): Promise<Uint8Array> {
  if (bytes.length > LARGE_BYTES) return await compressAsync(bytes, options)
  // Node takes room for 64 KB at each call unless told otherwise.
  return zstdCompressSync(bytes, { ...options, chunkSize: Math.min(bytes.length + 128, 65_536) })
}

// As many as the sequence's blocks have room for in 38 bits, see partition-key.ts.
export const BLOCK = 1024
// A replica that took over, or a server that was restored, gives the blocks of the last moments once more. By then nobody
// uses them any more.
const GOOD_MS = 10_000

/**
 * Numbers for raw mail that nobody else gets: two mails of one number could be taken for each other. Drawn by the block, so
 * that a mail costs no question of its own, and outside of the transaction that uses them.
 */
export function serialNumbers(db: Db): (count: number) => Promise<number[]> {
  let free: number[] = []
  let goodUntil = 0

  return async (count) => {
    if (performance.now() >= goodUntil) free = []
    while (free.length < count) {
      goodUntil = performance.now() + GOOD_MS
      const [row] = await db.query<{ block: number }>(DRAW)
      if (!row) throw new Error('a block of serials was asked for and not given')
      free = free.concat(Array.from({ length: BLOCK }, (_, at) => row.block * BLOCK + at))
    }
    return free.splice(0, count)
  }
}

// PostgreSQL answers with a sequence's next number before it is on disk, and gives it again after a crash. With a message
// to the log, which nobody reads, the answer waits for the disk.
const DRAW = `select nextval('mail.raw_block') as block,
  pg_logical_emit_message(true, 'mayfly', '')::text`

/** Takes all mail of a session, which is locked, from one bucket to another. Bytes that others have too stay there as well. */
export async function movePartition(
  db: Db,
  mailbox: MailboxId,
  { from, to }: { from: number; to: number },
): Promise<void> {
  const moved = await db.queryUnprepared<{ serial: number }>(
    `update mail.message set bucket = ${to} where mailbox = $1 and bucket = ${from}
     returning serial`,
    [mailbox],
  )
  if (moved.length === 0) return
  const serials = moved.map(({ serial }) => serial)
  // Both at once and in one order, so that two who move the same mails, even past each other, wait and no more.
  await db.queryUnprepared(
    `select 1 from mail.raw_mail where bucket in (${from}, ${to}) and serial = any($1::bigint[])
     order by serial, bucket for update`,
    [serials],
  )
  // Numbers start over some day: whoever would meet another mail of the same number stays where he is.
  const kept = await db.queryUnprepared(
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
