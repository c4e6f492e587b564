import type { Mail, RawMail, SenderChecks } from '../../core/message.ts'
import { checksOf, parsedOf, type RawRow, rawMailOf } from '../rows.ts'
import type { Kept, NewMail } from '../store.ts'
import { commitInGroups } from './commit-groups.ts'
import type { Connections, Db } from './connections.ts'
import { type IntakeDeps, keepAll, type Waiting } from './intake.ts'
import { splitRawId } from './partition-days.ts'
import { withPartitions } from './partitions.ts'
import { pack } from './raw.ts'

export function mailReads(db: Db) {
  /** What of a raw mail is asked for. Its session may just have been extended: then the same lies in another bucket. */
  async function find<Row>(rawId: number, columns: string): Promise<Row | undefined> {
    const { bucket, serial } = splitRawId(rawId)
    const select = `select ${columns} from mail.raw_mail where serial = $1`
    const [here] = await db.rows<Row>(`${select} and bucket = ${bucket}`, [serial])
    if (here) return here
    const [elsewhere] = await db.rows<Row>(`${select} limit 1`, [serial])
    return elsewhere
  }

  return {
    async readRaw(rawId: number): Promise<RawMail | undefined> {
      const columns = 'zstd, client_ip, helo, mail_from, tls, protocol, received_at'
      const row = await find<RawRow>(rawId, columns)
      return row && rawMailOf(row)
    },
    async readParsed(rawId: number): Promise<Mail | undefined> {
      const row = await find<{ parsed: Uint8Array | null }>(rawId, 'parsed')
      return parsedOf(row?.parsed)
    },
    async readSenderChecks(rawId: number): Promise<SenderChecks | undefined> {
      const row = await find<{ auth: string | null }>(rawId, 'auth')
      return checksOf(row?.auth)
    },
  }
}

export function mailWrites(pool: Connections, deps: IntakeDeps) {
  async function change(rawId: number, column: string, value: unknown): Promise<void> {
    const { bucket, serial } = splitRawId(rawId)
    await pool.rows(
      `update mail.raw_mail set ${column} = $2 where serial = $1 and bucket = ${bucket}`,
      [serial, value],
    )
  }

  const keepTogether = commitInGroups(async (mails: readonly Waiting[]) => {
    const serials = await deps.serials(mails.length)
    return await withPartitions(pool, (db, used) => keepAll(db, mails, { ...deps, used, serials }))
  })

  return {
    async addMail({ raw, ...mail }: NewMail): Promise<Kept> {
      const size = raw.length
      return await keepTogether({ ...mail, size, zstd: await pack(raw) })
    },
    keepParsed: async (rawId: number, mail: Mail): Promise<void> =>
      change(rawId, 'parsed', await pack(JSON.stringify(mail))),
    keepSenderChecks: (rawId: number, checks: SenderChecks): Promise<void> =>
      change(rawId, 'auth', JSON.stringify(checks)),
  }
}
