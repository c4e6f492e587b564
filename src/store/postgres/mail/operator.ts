import type { Address } from '../../../core/address.ts'
import type { MailboxId, Session } from '../../../core/session.ts'
import type { MailScan, ScannedPage, SessionQuery } from '../../operator-store.ts'
import { type SessionRow, sessionOf } from '../../rows.ts'
import type { Db } from '../connection/connections.ts'
import { FAR_PARTITION } from './partition-key.ts'
import { listPartitions } from './partitions.ts'
import { SESSION_COLUMNS } from './sessions.ts'

interface ScannedRow {
  mailbox: MailboxId
  id: number
  size: number
  matches: boolean
}

const LIVE = 'token_hash is not null and not cleared and expires_at > $1'
// Ids of sessions follow the clock.
const ORDERS = { newest: 'id desc', largest: 'bytes desc, id desc' } as const

export function operatorReads(db: Db) {
  return {
    async listSessions({ order, limit, now }: SessionQuery): Promise<Session[]> {
      const rows = await db.query<SessionRow>(
        `select ${SESSION_COLUMNS} from mail.session where ${LIVE} order by ${ORDERS[order]} limit $2`,
        [now.getTime(), limit],
      )
      return rows.map(sessionOf)
    },

    async findSessionByAddress(address: Address, now: Date): Promise<Session | undefined> {
      const [row] = await db.query<SessionRow>(
        `select ${SESSION_COLUMNS} from mail.session where ${LIVE} and address = $2`,
        [now.getTime(), address],
      )
      return row && sessionOf(row)
    },

    async countMail(): Promise<number> {
      const [row] = await db.query<{ messages: number }>(
        `select coalesce(sum(count), 0)::bigint as messages from (
           select count from mail.session where not cleared
           union all select count from mail.shared_mailbox) as boxes`,
      )
      return row?.messages ?? 0
    },

    /** One partition after the other, those that are dropped first come first. */
    async scanMail({ clientIp, after, limit }: MailScan): Promise<ScannedPage> {
      const buckets = [...(await listPartitions(db)), FAR_PARTITION].sort((one, next) => one - next)
      const left = buckets.filter((bucket) => bucket >= (after?.partition ?? 0))
      const [bucket = FAR_PARTITION, nextBucket] = left
      const rows = await scanBucket(db, bucket, {
        clientIp,
        limit,
        from: after?.partition === bucket ? after : { mailbox: 0, id: 0 },
      })
      const last = rows.at(-1)
      const inBucket = rows.length === limit && last && { ...last, bucket }
      const inNext = nextBucket === undefined ? undefined : { ...START, bucket: nextBucket }
      const next = inBucket || inNext
      return {
        found: rows
          .filter(({ matches }) => matches)
          .map(({ mailbox, id, size }) => ({ mailbox, id, size })),
        scanned: rows.length,
        next: next && { partition: next.bucket, mailbox: next.mailbox, id: next.id },
      }
    },
  }
}

const START = { mailbox: 0 as MailboxId, id: 0 }

function scanBucket(
  db: Db,
  bucket: number,
  scan: { clientIp: string; limit: number; from: { mailbox: number; id: number } },
): Promise<ScannedRow[]> {
  return db.queryUnprepared(
    `select message.mailbox, message.id, message.size, raw.client_ip = $1 as matches
     from mail.message join mail.raw_mail as raw
       on raw.bucket = ${bucket} and raw.serial = message.serial
     where message.bucket = ${bucket}
       and (message.mailbox, message.bucket, message.id) > ($2::bigint, ${bucket}, $3::bigint)
     order by message.mailbox, message.bucket, message.id limit $4::integer`,
    [scan.clientIp, scan.from.mailbox, scan.from.id, scan.limit],
  )
}
