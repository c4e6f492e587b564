import { type Operation, query, queryOnce } from '../../../base/operation.ts'
import type { RawMail } from '../../../mail/rules/message.ts'
import type { SessionRow } from '../../../mail/store-rows.ts'
import type { Mail, SenderChecks } from '../../../shared/mail.ts'
import { compressAsync } from '../../compression.ts'
import { checksOf, parsedJsonOf, type RawRow, rawMailOf } from '../../rows.ts'
import type { Db } from '../connection/connections.ts'
import { dayOf, partitionFor, rawIdOf, splitRawId } from './partition-key.ts'

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

/** `endedAt`: what is dropped with its partition when that day is over is left. */
export function* releaseRaws(rawIds: readonly number[], endedAt?: Date): Operation<void> {
  const raws = rawIds
    .map(splitRawId)
    .filter(({ bucket }) => endedAt === undefined || bucket > dayOf(endedAt))
  const byBucket = Map.groupBy(raws, ({ bucket }) => bucket)
  // Locked at once, in the order in which all do, so that concurrent transactions cannot deadlock. In a separate statement: the
  // next one then sees the current counts.
  yield* lockRaws(raws, [...byBucket.keys()])
  for (const [bucket, gone] of byBucket) {
    const serials = gone.map(({ serial }) => serial)
    yield* query(
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
}

function* lockRaws(
  raws: readonly { serial: number }[],
  buckets: readonly number[],
): Operation<void> {
  if (raws.length === 0) return
  const lock = buckets.length > 1 ? queryOnce : query
  yield* lock(
    `select 1 from mail.raw_mail where bucket in (${buckets.join()}) and serial = any($1::bigint[])
     order by serial, bucket for update`,
    [raws.map(({ serial }) => serial)],
  )
}

/**
 * Moves raw mail of a locked session that would be dropped before the session expires; what other mailboxes share is copied. It
 * goes to the end of twice the lifetime: even a session that is extended daily moves its mail at most six times, the last time
 * to FAR_PARTITION. If a session ends before its partitions, the sweep deletes its mail.
 */
export function* keepRaws(
  { id, count, created_at: createdAt }: SessionRow,
  expiresAt: Date,
  now: Date,
): Operation<void> {
  if (count === 0) return
  const early = [id, rawIdOf(partitionFor(expiresAt, now), 0)]
  const rows = yield* query<{ raw_id: number }>(
    'select raw_id from mail.message where mailbox = $1 and raw_id < $2',
    early,
  )
  if (rows.length === 0) return
  const lifeMs = Math.max(expiresAt.getTime() - createdAt, 0)
  const to = partitionFor(new Date(expiresAt.getTime() + lifeMs), now)
  const rawIds = rows.map((row) => row.raw_id)
  const raws = rawIds.map(splitRawId)
  const buckets = [...new Set(raws.map(({ bucket }) => bucket))]
  yield* lockRaws(raws, [...buckets, to])
  // Serials wrap around: if another mail has the same one, the move fails.
  const stored = yield* queryOnce(
    `insert into mail.raw_mail as there (bucket, serial, refs, client_ip, helo, mail_from, tls,
       protocol, received_at, auth, zstd, parsed)
     select ${to}, serial, 1, client_ip, helo, mail_from, tls, protocol, received_at, auth, zstd, parsed
     from mail.raw_mail as raw
     where bucket in (${buckets.join()}) and (bucket::bigint << 38) + serial = any($1::bigint[])
       and serial = any($2::bigint[])
     order by serial
     on conflict (serial, bucket) do update set refs = there.refs + 1
       where there.zstd = excluded.zstd
     returning 1`,
    [rawIds, raws.map(({ serial }) => serial)],
  )
  if (stored.length < rows.length) throw new Error('another mail has the same serial')
  yield* query(
    `update mail.message set raw_id = $3 + (raw_id & ((1::bigint << 38) - 1))
     where mailbox = $1 and raw_id < $2`,
    [...early, rawIdOf(to, 0)],
  )
  yield* releaseRaws(rawIds)
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
