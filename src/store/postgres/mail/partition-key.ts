// Raw mail is partitioned by its due day, the column `bucket`: the UTC day, in days since 1970, at whose end it is deleted at the
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

export function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}

/** The end of a partition's day. */
export function endOf(bucket: number): number {
  return (bucket + 1) * DAY_MS
}

// 15 bits of partition, 38 of serial: together the 53 bits of a JSON number.
const SERIALS = 2 ** 38

/** Identifies a raw mail and its partition in one number; those of a later partition are higher. */
export function rawIdOf(bucket: number, serial: number): number {
  return bucket * SERIALS + serial
}

export function splitRawId(rawId: number): { bucket: number; serial: number } {
  const bucket = Math.floor(rawId / SERIALS)
  return { bucket, serial: rawId - bucket * SERIALS }
}

// Limits: days end on 2059-09-17; from then on all mail is in FAR_PARTITION. Serials wrap around after 2^38 mails, 318 days at
// 10,000 per second. By then the partitions of the first round are gone; a mail in FAR_PARTITION that meets its own serial is
// refused once, or cannot be moved.
