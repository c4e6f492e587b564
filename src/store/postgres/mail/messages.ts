import {
  type MailScan,
  type ScannedPage,
  type ScannedRow,
  scannedPage,
  type Volume,
} from '../../../mail/operator-store.ts'
import type { Message } from '../../../mail/rules/message.ts'
import { isSharedMailbox, type MailboxId } from '../../../mail/rules/session.ts'
import type { MessagePage, MessageScan } from '../../../mail/store.ts'
import { type MessageRow, messageOf } from '../../../mail/store-rows.ts'
import type { Connections, Db } from '../connection/connections.ts'
import { FAR_PARTITION, type PartitionCache, partitionList, rawIdOf } from './partition-key.ts'
import { listPartitions } from './partitions.ts'
import { releaseRaw } from './raw-mail.ts'
import { deleteFromShared, NOT_EXPIRED } from './shared-mailboxes.ts'

export type StoredRow = MessageRow & { bucket: number; serial: number }

export const MESSAGE_COLUMNS = `message.mailbox, message.bucket, message.id, message.serial,
  message.recipient, message.sender_name, message.sender_email, message.subject,
  message.received_at, message.size, message.code, message.preview, message.attachments`

/** A row with the partitions of the mailbox, `at`; without mail it has only those. */
export type WithPartitions<Row> = { at: string } & (Row | { id: null })

export function messageReads(db: Db, partitions: PartitionCache) {
  /** The messages of a mailbox that meet a condition on $2, newest first. */
  async function find<Row>(
    mailbox: MailboxId,
    { columns, where, values }: { columns: string; where: string; values: number[] },
  ): Promise<Row[]> {
    const [box, seen] = isSharedMailbox(mailbox)
      ? [`mail.shared_mailbox`, `and ${NOT_EXPIRED}`]
      : ['mail.session', 'and not box.cleared']
    const at = isSharedMailbox(mailbox) ? `array_to_string(box.buckets, ',')` : 'box.bucket::text'
    const rows = await partitions.query(String(mailbox), (buckets) =>
      db.query<WithPartitions<Row>>(
        `select ${at} as at, found.* from ${box} as box left join lateral (
           select ${columns} from mail.message
           where mailbox = $1 and bucket in (${partitionList(buckets)}) ${seen} and ${where}
         ) as found on true
         where box.id = $1 order by found.id desc`,
        [mailbox, ...values],
      ),
    )
    return foundRows(rows)
  }

  return {
    async listMessages(
      mailbox: MailboxId,
      { sinceId, beforeId, limit }: MessagePage,
    ): Promise<Message[]> {
      const where = 'message.id > $2 and message.id < $3 order by message.id desc limit $4'
      const values = [sinceId, beforeId ?? Number.MAX_SAFE_INTEGER, limit]
      const rows = await find<StoredRow>(mailbox, { columns: MESSAGE_COLUMNS, where, values })
      return rows.map(storedMessageOf)
    },
    async listMessageIds(mailbox: MailboxId): Promise<number[]> {
      const where = 'message.id > $2'
      const rows = await find<{ id: number }>(mailbox, { columns: 'id', where, values: [0] })
      return rows.map(({ id }) => id)
    },
    async findMessage(mailbox: MailboxId, id: number): Promise<Message | undefined> {
      const where = 'message.id = $2'
      const [row] = await find<StoredRow>(mailbox, {
        columns: MESSAGE_COLUMNS,
        where,
        values: [id],
      })
      return row && storedMessageOf(row)
    },
  }
}

const SCAN_START = { mailbox: 0 as MailboxId, id: 0 }

export function scanReads(db: Db) {
  return {
    /** One partition after the other, those that are dropped first come first. */
    async scanMail({ clientIp, after, limit }: MailScan): Promise<ScannedPage> {
      const buckets = [...(await listPartitions(db)), FAR_PARTITION].sort((one, next) => one - next)
      const left = buckets.filter((bucket) => bucket >= (after?.partition ?? 0))
      const [bucket = FAR_PARTITION, nextPartition] = left
      const from = after?.partition === bucket ? after : SCAN_START
      const rows = await db.queryUnprepared<ScannedRow>(
        `select message.mailbox, message.id, message.size, raw.client_ip = $1 as matches
         from mail.message join mail.raw_mail as raw
           on raw.bucket = ${bucket} and raw.serial = message.serial
         where message.bucket = ${bucket}
           and (message.mailbox, message.bucket, message.id) > ($2::bigint, ${bucket}, $3::bigint)
         order by message.mailbox, message.bucket, message.id limit $4::integer`,
        [clientIp, from.mailbox, from.id, limit],
      )
      const last = rows.at(-1)
      if (rows.length === limit && last) {
        return scannedPage(rows, { partition: bucket, mailbox: last.mailbox, id: last.id })
      }
      return scannedPage(
        rows,
        nextPartition === undefined ? undefined : { ...SCAN_START, partition: nextPartition },
      )
    },
  }
}

export function foundRows<Row>(rows: WithPartitions<Row>[]): Row[] {
  return rows.filter((row): row is { at: string } & Row => 'id' in row && row.id !== null)
}

export function messageWrites(connections: Connections) {
  return {
    saveScan: ({ mailbox, id, code, preview, attachments }: MessageScan): Promise<boolean> =>
      connections.transaction(async (db) => {
        const [box] = await db.query<{ bucket: number }>(
          `select bucket from mail.session
           where id = $1 and token_hash is not null and not cleared for no key update`,
          [mailbox],
        )
        if (!box) return false
        const noted = await db.query(
          `update mail.message set code = $3, preview = $4, attachments = $5
           where mailbox = $1 and bucket = ${box.bucket} and id = $2 and preview is null
           returning id`,
          [mailbox, id, code, preview, attachments],
        )
        if (noted.length === 0) return false
        await db.query('update mail.session set codes = codes + 1 where id = $1', [mailbox])
        return true
      }),

    deleteMessage: async (mailbox: MailboxId, id: number): Promise<boolean> => {
      const { messages } = await connections.transaction((db) => deleteIn(db, mailbox, [id]))
      return messages > 0
    },

    deleteMessages: (mailbox: MailboxId, ids: readonly number[]): Promise<Volume> =>
      connections.transaction((db) => deleteIn(db, mailbox, ids)),
  }
}

/** Every deletion of single messages goes through here; the sweep deletes by mailbox and partition. */
async function deleteIn(db: Db, mailbox: MailboxId, ids: readonly number[]): Promise<Volume> {
  const none = { messages: 0, bytes: 0 }
  if (ids.length === 0) return none
  if (isSharedMailbox(mailbox)) return await deleteFromShared(db, mailbox, ids)
  const [box] = await db.query<{ bucket: number }>(
    'select bucket from mail.session where id = $1 and not cleared for no key update',
    [mailbox],
  )
  if (!box) return none
  const gone = await db.queryUnprepared<{ serial: number; size: number }>(
    `delete from mail.message where mailbox = ${mailbox} and id = any($1::bigint[])
       and bucket = ${box.bucket} returning serial, size`,
    [ids],
  )
  if (gone.length === 0) return none
  const removed = { messages: gone.length, bytes: gone.reduce((sum, { size }) => sum + size, 0) }
  await db.query(
    `update mail.session set version = version + 1, count = count - $2, bytes = bytes - $3
     where id = $1`,
    [mailbox, removed.messages, removed.bytes],
  )
  const serials = gone.map(({ serial }) => serial)
  await releaseRaw(db, box.bucket, serials)
  return removed
}

export function storedMessageOf(row: StoredRow): Message {
  return messageOf(row, rawIdOf(row.bucket, row.serial))
}
