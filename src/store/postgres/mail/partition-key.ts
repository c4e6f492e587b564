import { openLru } from '../../../base/lru.ts'

// Mail is partitioned by its due day, the column `bucket`: the UTC day, in days since 1970, at whose end it is deleted at the
// latest. That is the day its session expires, or a later one, or the end of retention in a shared mailbox. Each day has a
// partition, which is dropped as a whole when the day is over.

const DAY_MS = 86_400_000
// A session created today may expire this late.
const FURTHEST_DAYS = 60
export const AHEAD_DAYS = FURTHEST_DAYS + 1

/** For all mail that is due later: one partition, from which mail is deleted in small steps. */
export const FAR_PARTITION = 2 ** 15 - 1

export function partitionFor(dueAt: Date, now: Date): number {
  const bucket = dayOf(dueAt)
  return bucket > dayOf(now) + FURTHEST_DAYS
    ? FAR_PARTITION
    : Math.min(Math.max(bucket, 0), FAR_PARTITION)
}

interface SessionRow {
  bucket: number
  count: number
  created_at: number
}

/**
 * The partition of a session after its expiry has changed. Mail moves only if it would be dropped too early, and then to twice
 * the session's lifetime: a move rewrites all of its mail, and even a session that is extended daily moves at most six times, the
 * last time to FAR_PARTITION. If a session ends before its partition, the sweep deletes its mail, see clearEnded.
 */
export function partitionAfterExtension(session: SessionRow, expiresAt: Date, now: Date): number {
  const needed = partitionFor(expiresAt, now)
  if (session.count === 0) return needed
  if (needed <= session.bucket) return session.bucket
  const createdAt = Math.min(session.created_at, expiresAt.getTime())
  return partitionFor(new Date(2 * expiresAt.getTime() - createdAt), now)
}

export function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}

/** The end of a partition's day. */
export function endOf(bucket: number): number {
  return (bucket + 1) * DAY_MS
}

// 15 bits of partition, 38 of serial: together the 53 bits of a JSON number.
const SERIALS = 2 ** 38

/** Identifies a raw mail and its partition in one number. */
export function rawIdOf(bucket: number, serial: number): number {
  return bucket * SERIALS + serial
}

export function splitRawId(rawId: number): { bucket: number; serial: number } {
  const bucket = Math.floor(rawId / SERIALS)
  return { bucket, serial: rawId - bucket * SERIALS }
}

/** A SQL list of partitions; without any, a list that matches none. */
export function partitionList(buckets: string): string {
  return buckets === '' ? '-1' : buckets
}

// Limits: days end on 2059-09-17; from then on all mail is in FAR_PARTITION. Serials wrap around after 2^38 mails, 318 days at
// 10,000 per second. By then the partitions of the first round are gone; a mail in FAR_PARTITION that meets its own serial is
// refused once, or cannot be moved.

const MAX_CACHED = 20_000

/**
 * The partitions in which mail was last found. A statement names its partitions, so they must be known before it runs; it also
 * returns which they are, and if they differ it is run again. So the cache only saves a query.
 */
export function openPartitionCache() {
  const cache = openLru<string, string>(MAX_CACHED)

  return {
    remember: (key: string, partitions: string): void => cache.set(key, partitions),
    /** Runs the query until it used the right partitions, which column `at` of its first row names; without rows there is no mail. */
    async query<Row extends { at: string }>(
      key: string,
      run: (partitions: string) => Promise<Row[]>,
    ): Promise<Row[]> {
      for (;;) {
        const partitions = cache.get(key) ?? ''
        const rows = await run(partitions)
        const at = rows[0]?.at ?? partitions
        if (at === partitions) return rows
        cache.set(key, at)
      }
    },
  }
}

export type PartitionCache = ReturnType<typeof openPartitionCache>
