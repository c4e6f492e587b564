import type { Mail, RawMail, SenderChecks } from '../../../core/message.ts'
import { checksOf, parsedOf, type RawRow, rawMailOf } from '../../rows.ts'
import type { AddMailResult, NewMail } from '../../store.ts'
import { batchWrites } from '../connection/batching.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { type AddMailDeps, addMails, type PendingMail } from './add-mail.ts'
import { splitRawId } from './partition-key.ts'
import { withPartitions } from './partitions.ts'
import { compress } from './raw-mail.ts'

export function mailReads(db: Db) {
  /** What of a raw mail is asked for. Its session may just have been extended: then the same lies in another bucket. */
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

export function mailWrites(pool: Connections, deps: AddMailDeps) {
  async function change(rawId: number, column: string, value: unknown): Promise<void> {
    const { bucket, serial } = splitRawId(rawId)
    await pool.query(
      `update mail.raw_mail set ${column} = $2 where serial = $1 and bucket = ${bucket}`,
      [serial, value],
    )
  }

  const keepTogether = batchWrites(async (mails: readonly PendingMail[]) => {
    const serials = await deps.serials(mails.length)
    return await withPartitions(pool, (db, used) => addMails(db, mails, { ...deps, used, serials }))
  })

  return {
    async addMail({ raw, ...mail }: NewMail): Promise<AddMailResult> {
      const size = raw.length
      return await keepTogether({ ...mail, size, zstd: await compress(raw) })
    },
    saveParsed: async (rawId: number, mail: Mail): Promise<void> =>
      change(rawId, 'parsed', await compress(JSON.stringify(mail))),
    saveSenderChecks: (rawId: number, checks: SenderChecks): Promise<void> =>
      change(rawId, 'auth', JSON.stringify(checks)),
  }
}
