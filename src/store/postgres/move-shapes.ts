import type { Row, Value } from '../../core/row-sum.ts'
import { OPERATOR, POOL } from '../../core/session.ts'
import type { Retention } from './mail/mailbox-locks.ts'
import { dayOf, partitionFor } from './mail/partition-key.ts'

/** What decides where mail lies, for the whole of a move, also when it goes on on another day. */
export interface MovePlan extends Retention {
  beganAt: Date
}

/** Rows of SQLite as they lie in PostgreSQL: mail goes to its buckets, and once to each of them. */
export function shaped(table: string, rows: readonly Row[], plan: MovePlan): Row[] {
  const shape = SHAPES[table]
  const there = shape ? rows.flatMap((row) => shape(row, bucketFinder(plan))) : rows
  return there.map(cleaned)
}

interface Letter {
  mailbox: unknown
  /** Of its session, if it is in one. */
  expiresAt: unknown
  receivedAt: unknown
}

type BucketFinder = (letter: Letter) => number

const SHAPES: Record<string, (row: Row, bucketFor: BucketFinder) => Row[]> = {
  'mail.session': (row, bucketFor) => {
    const { id: mailbox, expires_at: expiresAt, created_at: receivedAt } = row
    return [{ ...row, bucket: bucketFor({ mailbox, expiresAt, receivedAt }) }]
  },
  'mail.raw_mail': ({ id: _, letters, ...mail }, bucketFor) => {
    const copies = new Map<number, number>()
    for (const [mailbox, expiresAt, receivedAt] of JSON.parse(String(letters)) as unknown[][]) {
      const bucket = bucketFor({ mailbox, expiresAt, receivedAt })
      copies.set(bucket, (copies.get(bucket) ?? 0) + 1)
    }
    return [...copies].map(([bucket, refs]) => ({ ...mail, bucket, refs }))
  },
  'mail.message': ({ raw_id: _, expires_at: expiresAt, ...message }, bucketFor) => {
    const { mailbox, received_at: receivedAt } = message
    return [{ ...message, bucket: bucketFor({ mailbox, expiresAt, receivedAt }) }]
  },
}

/** Mail that is over already lies with what is over today: the first sweeps clear and drop it. */
function bucketFinder({ beganAt, poolMs, operatorMs }: MovePlan): BucketFinder {
  const keptMs = new Map<unknown, number>([
    [POOL, poolMs],
    [OPERATOR, operatorMs],
  ])
  return ({ mailbox, expiresAt, receivedAt }) => {
    const kept = keptMs.get(mailbox)
    const dueAt = kept === undefined ? Number(expiresAt) : Number(receivedAt) + kept
    return Math.max(partitionFor(new Date(dueAt), beganAt), dayOf(beganAt))
  }
}

/** PostgreSQL's text holds every character but this one; its own intake writes the same instead. */
function cleaned(row: Row): Row {
  const isClean = Object.values(row).every((value) => !hasNull(value))
  if (isClean) return row
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    hasNull(value) ? value.replaceAll('\0', '\u{fffd}') : value,
  ])
  return Object.fromEntries(entries) as Row
}

function hasNull(value: Value): value is string {
  return typeof value === 'string' && value.includes('\0')
}
