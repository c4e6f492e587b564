// A bucket is the UTC day, in days since 1970, after which a mail goes at the latest: the end of its session or a later day, or
// the end of its time in a shared box. Each has a partition of its own, which is dropped whole when the day is over.

const DAY_MS = 86_400_000
// Partitions are made so far ahead, and a little further: a session of today may end so late.
const FURTHEST_DAYS = 60
export const AHEAD_DAYS = FURTHEST_DAYS + 1

/** Where mail lies that stays longer: one partition, cleared by hand in small steps. */
export const FAR_PARTITION = 2 ** 15 - 1

/** Where mail lies that is due at a time, as seen from another. */
export function partitionFor(dueAt: Date, now: Date): number {
  const bucket = dayOf(dueAt)
  return bucket > dayOf(now) + FURTHEST_DAYS
    ? FAR_PARTITION
    : Math.min(Math.max(bucket, 0), FAR_PARTITION)
}

/** A session as its row says where its mail lies. */
interface Placement {
  bucket: number
  count: number
  created_at: number
}

/**
 * The bucket of a session whose expiry changes. Mail has to lie no earlier than its expiry, so it moves only when it would be
 * dropped too early, and then to twice the session's whole life: a move writes all of the mail again, and even a session that
 * is extended every day is moved six times at most, the last time to FAR. If the session ends before its bucket, the sweep
 * deletes its mail, see clearEnded.
 */
export function partitionAfterExtension(session: Placement, expiresAt: Date, now: Date): number {
  const needed = partitionFor(expiresAt, now)
  if (session.count === 0) return needed
  if (needed <= session.bucket) return session.bucket
  const createdAt = Math.min(session.created_at, expiresAt.getTime())
  return partitionFor(new Date(2 * expiresAt.getTime() - createdAt), now)
}

export function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}

/** The first moment at which the bucket's day is over. */
export function endOf(bucket: number): number {
  return (bucket + 1) * DAY_MS
}

// 15 bits of bucket, 38 of serial: together the 53 that a JSON number holds.
const SERIALS = 2 ** 38

/** A raw mail by one number that tells where it lies. */
export function rawIdOf(bucket: number, serial: number): number {
  return bucket * SERIALS + serial
}

export function splitRawId(rawId: number): { bucket: number; serial: number } {
  const bucket = Math.floor(rawId / SERIALS)
  return { bucket, serial: rawId - bucket * SERIALS }
}

/** As SQL, to look for mail in these buckets and no others. In none: a list of what is no bucket. */
export function partitionList(buckets: string): string {
  return buckets === '' ? '-1' : buckets
}

// Limits: days end on 2059-09-17, from then on all mail is far. Serials start over after 2^38 mails, which is 318 days at
// 10,000 a second; the days of the first round are long gone then, and a far mail that meets its own number is refused once,
// or cannot be moved.

const MAX_CACHED = 20_000

/**
 * Where mail was last seen to lie. A statement names its buckets, so they must be known before; it also says which they
 * are, and when those are others it is asked again. So what is remembered saves a question and decides nothing.
 */
export function openPartitionCache() {
  const places = new Map<string, string>()

  function remember(whose: string, buckets: string): void {
    places.delete(whose)
    if (places.size >= MAX_CACHED) {
      const [eldest = ''] = places.keys()
      places.delete(eldest)
    }
    places.set(whose, buckets)
  }

  return {
    remember,
    /** Asks until the answer comes from where the mail lies. `at` of the first row tells; without any row there is no mail. */
    async query<Row extends { at: string }>(
      whose: string,
      question: (buckets: string) => Promise<Row[]>,
    ): Promise<Row[]> {
      for (;;) {
        const buckets = places.get(whose) ?? ''
        const rows = await question(buckets)
        const at = rows[0]?.at ?? buckets
        if (at === buckets) return rows
        remember(whose, at)
      }
    },
  }
}

export type PartitionCache = ReturnType<typeof openPartitionCache>
