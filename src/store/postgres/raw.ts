import { promisify } from 'node:util'
import { constants, zstdCompress, zstdCompressSync } from 'node:zlib'
import type { Db } from './connections.ts'

/** One reference less to each of these raw mails of a bucket, as often as it is named; what has none left is deleted. */
export async function releaseRaw(
  db: Db,
  bucket: number,
  serials: readonly number[],
): Promise<void> {
  if (serials.length === 0) return
  // Locked in the order of serials, and in a statement of its own: the next one sees the counts as they are then.
  await db.rows(
    `select serial from mail.raw_mail where bucket = ${bucket} and serial = any($1::bigint[])
     order by serial for update`,
    [serials],
  )
  await db.rows(
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
    // All are locked at once, in the order of move-partition.ts: two transactions that release some of the same mails cannot deadlock.
    await db.rows(
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
const compress = promisify(zstdCompress)
// A door's thread does this: what takes longer than a millisecond is left to Node's own threads.
const LARGE = 256 * 1024

export async function pack(bytes: Uint8Array | string): Promise<Uint8Array> {
  if (bytes.length > LARGE) return await compress(bytes, options)
  // Node takes room for 64 KB at each call unless told otherwise.
  return zstdCompressSync(bytes, { ...options, chunkSize: Math.min(bytes.length + 128, 65_536) })
}
