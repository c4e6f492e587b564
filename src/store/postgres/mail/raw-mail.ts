import type { RawMail } from '../../../mail/rules/message.ts'
import type { MailboxId } from '../../../mail/rules/session.ts'
import type { Mail, SenderChecks } from '../../../shared/mail.ts'
import { compressAsync } from '../../compression.ts'
import { checksOf, parsedJsonOf, type RawRow, rawMailOf } from '../../rows.ts'
import type { Db } from '../connection/connections.ts'
import { splitRawId } from './partition-key.ts'

export function rawMailReads(db: Db) {
  /** If the session has just been extended, the mail is in another partition. */
  async function find<Row>(rawId: number, columns: string): Promise<Row | undefined> {
    const { bucket, serial } = splitRawId(rawId)
    const select = `select ${columns} from mail.raw_mail where serial = $1`
    const [here] = await db.query<Row>(`${select} and bucket = ${bucket}`, [serial])
    if (here) return here
    const [elsewhere] = await db.query<Row>(`${select} limit 1`, [serial])
    return elsewhere
  }

  return {
    async readRaw(rawId: number): Promise<RawMail | undefined> {
      const columns = 'zstd, client_ip, helo, mail_from, tls, protocol, received_at'
      const row = await find<RawRow>(rawId, columns)
      return row && (await rawMailOf(row))
    },
    async readParsedJson(rawId: number): Promise<Buffer | undefined> {
      const row = await find<{ parsed: Uint8Array | null }>(rawId, 'parsed')
      return await parsedJsonOf(row?.parsed)
    },
    async readSenderChecks(rawId: number): Promise<SenderChecks | undefined> {
      const row = await find<{ auth: string | null }>(rawId, 'auth')
      return checksOf(row?.auth)
    },
  }
}

export function rawMailWrites(db: Db) {
  async function update(rawId: number, column: string, value: unknown): Promise<void> {
    const { bucket, serial } = splitRawId(rawId)
    await db.query(
      `update mail.raw_mail set ${column} = $2 where serial = $1 and bucket = ${bucket}`,
      [serial, value],
    )
  }

  return {
    saveParsed: async (rawId: number, mail: Mail): Promise<void> =>
      update(rawId, 'parsed', await compressAsync(JSON.stringify(mail))),
    saveSenderChecks: (rawId: number, checks: SenderChecks): Promise<void> =>
      update(rawId, 'auth', JSON.stringify(checks)),
  }
}

/** Removes a reference to each of these raw mails, per occurrence; those without any left are deleted. */
export async function releaseRaw(db: Db, bucket: number, serials: readonly number[]) {
  if (serials.length === 0) return
  // Locked in the order of serials, in a separate statement: the next one then sees the current counts.
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

/** The same for several partitions. */
export async function releaseRaws(
  db: Db,
  gone: readonly { bucket: number; serial: number }[],
): Promise<void> {
  const byBucket = Map.groupBy(gone, ({ bucket }) => bucket)
  if (byBucket.size > 1) {
    // Locked at once, in the same order as in movePartition, so that concurrent transactions cannot deadlock.
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

// The sequence counts blocks of 28 bits: together 38, see partition-key.ts.
export const BLOCK = 1024
// After a failover or a restore, the server may issue the last blocks again. By then nobody uses them any more.
const BLOCK_MS = 10_000

/**
 * Unique serials for raw mail. They are drawn in blocks, so that a mail costs no round trip, and outside of the transaction that
 * uses them.
 */
export function serialNumbers(db: Db): (count: number) => Promise<number[]> {
  let free: number[] = []
  let validUntil = 0

  return async (count) => {
    if (performance.now() >= validUntil) free = []
    while (free.length < count) {
      validUntil = performance.now() + BLOCK_MS
      const [row] = await db.query<{ block: number }>(DRAW)
      if (!row) throw new Error('the sequence returned no block')
      free = free.concat(Array.from({ length: BLOCK }, (_, at) => row.block * BLOCK + at))
    }
    return free.splice(0, count)
  }
}

// PostgreSQL returns the next value of a sequence before it is on disk, and returns it again after a crash. With a message in
// the WAL, which nobody reads, the statement waits for the disk.
const DRAW = `select nextval('mail.raw_block') as block,
  pg_logical_emit_message(true, 'mayfly', '')::text`

/** Moves all mail of a locked session to another partition. Raw mail that other mailboxes share is copied. */
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
  // Both at once and in one order, so that concurrent moves of the same mail cannot deadlock.
  await db.queryUnprepared(
    `select 1 from mail.raw_mail where bucket in (${from}, ${to}) and serial = any($1::bigint[])
     order by serial, bucket for update`,
    [serials],
  )
  // Serials wrap around: if another mail has the same one, the move fails.
  const stored = await db.queryUnprepared(
    `insert into mail.raw_mail as there (bucket, serial, refs, client_ip, helo, mail_from, tls,
       protocol, received_at, auth, zstd, parsed)
     select ${to}, serial, 1, client_ip, helo, mail_from, tls, protocol, received_at, auth, zstd, parsed
     from mail.raw_mail where bucket = ${from} and serial = any($1::bigint[]) order by serial
     on conflict (serial, bucket) do update set refs = there.refs + 1
       where there.zstd = excluded.zstd
     returning 1`,
    [serials],
  )
  if (stored.length < moved.length) throw new Error('another mail has the same serial')
  await releaseRaw(db, from, serials)
}
