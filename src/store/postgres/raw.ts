import type { Db } from './pool.ts'

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
