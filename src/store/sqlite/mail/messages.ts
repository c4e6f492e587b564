import {
  type MailScan,
  type ScannedPage,
  type ScannedRow,
  scannedPage,
  type Volume,
} from '../../../mail/operator-store.ts'
import type { Message } from '../../../mail/rules/message.ts'
import { isSharedMailbox, type MailboxId, POOL } from '../../../mail/rules/session.ts'
import type { MessagePage, MessageScan } from '../../../mail/store.ts'
import { type MessageRow, messageOf } from '../../../mail/store-rows.ts'
import type { Db } from '../files.ts'
import type { Touch } from '../group-commit.ts'

export type StoredMessageRow = MessageRow & {
  raw_id: number
  /**
   * Both null outside shared mailboxes; the network also if the sender was exempt from shares. Mail that version 0.1.0 stored
   * after the migration has neither, and counts by its size.
   */
  stored: number | null
  sender_network: string | null
}

export function messageReads(db: Db) {
  const list = db.prepare<[number, number, number, number], StoredMessageRow>(
    // With a bare parameter as limit, SQLite would plan the statement again at each run.
    'select * from message where mailbox = ? and id > ? and id < ? order by id desc limit +?',
  )
  const ids = db
    .prepare<[number], number>('select id from message where mailbox = ? order by id desc')
    .pluck()
  const one = db.prepare<[number, number], StoredMessageRow>(
    'select * from message where mailbox = ? and id = ?',
  )
  // A scan of all messages: an index by client would cost at every mail received.
  const page = db.prepare<[string, number, number, number], ScannedRow>(
    `select mailbox, message.id, size, client_ip = ? as matches
     from message cross join raw_mail on raw_mail.id = raw_id
     where (mailbox, message.id) > (?, ?) order by mailbox, message.id limit +?`,
  )

  return {
    listMessages: (mailbox: MailboxId, { sinceId, beforeId, limit }: MessagePage): Message[] =>
      list
        .all(mailbox, sinceId, beforeId ?? Number.MAX_SAFE_INTEGER, limit)
        .map((row) => messageOf(row, row.raw_id)),
    listMessageIds: (mailbox: MailboxId): number[] => ids.all(mailbox),
    findMessage(mailbox: MailboxId, id: number): Message | undefined {
      const row = one.get(mailbox, id)
      return row && messageOf(row, row.raw_id)
    },
    scanMail({ clientIp, after, limit }: MailScan): ScannedPage {
      const rows = page.all(clientIp, after?.mailbox ?? 0, after?.id ?? 0, limit)
      const last = rows.length < limit ? undefined : rows.at(-1)
      return scannedPage(rows, last && { partition: 0, mailbox: last.mailbox, id: last.id })
    },
  }
}

export function messageWrites(db: Db, touch: Touch) {
  const remove = messageDeletion(db)
  const find = db.prepare<[number, number], StoredMessageRow>(
    'select * from message where mailbox = ? and id = ?',
  )
  const isOwned = db
    .prepare<[number], number>('select 1 from session where id = ? and token_hash is not null')
    .pluck()
  const note = db.prepare(
    `update message set code = ?, preview = ?, attachments = ?
     where mailbox = ? and id = ? and preview is null`,
  )
  const count = db.prepare('update session set codes = codes + 1 where id = ?')

  return {
    saveScan({ mailbox, id, code, preview, attachments }: MessageScan): boolean {
      if (isOwned.get(mailbox) === undefined) return false
      if (note.run(code, preview, attachments, mailbox, id).changes === 0) return false
      count.run(mailbox)
      touch(mailbox)
      return true
    },

    deleteMessage: (mailbox: MailboxId, id: number): boolean =>
      deleteMessages(mailbox, [id]).messages > 0,
    deleteMessages,
  }

  function deleteMessages(mailbox: MailboxId, ids: readonly number[]): Volume {
    const removed = { messages: 0, bytes: 0 }
    for (const id of ids) {
      const row = find.get(mailbox, id)
      if (!row) continue
      remove(row)
      removed.messages += 1
      removed.bytes += row.size
    }
    if (removed.messages > 0) touch(mailbox)
    return removed
  }
}

/** Every deletion of a message goes through here: its row, the counters, and the raw mail if no other message refers to it. */
export function messageDeletion(db: Db) {
  const drop = db.prepare('delete from message where mailbox = ? and id = ?')
  const dropLast = db.prepare('delete from raw_mail where id = ? and refs <= 1')
  const unreference = db.prepare('update raw_mail set refs = refs - 1 where id = ?')
  const dropContent = ['raw_bytes', 'parsed_mail'].map((table) =>
    db.prepare(`delete from ${table} where raw_id = ?`),
  )
  const subtract = 'set version = version + 1, count = count - 1, bytes = bytes - ? where id = ?'
  const subtractInSession = db.prepare(`update session ${subtract}`)
  const subtractInShared = db.prepare(`update shared_mailbox ${subtract}`)
  const subtractAtAddress = db.prepare(
    'update pool_address set count = count - 1, bytes = bytes - ? where address = ?',
  )
  const deleteAddress = db.prepare('delete from pool_address where address = ? and count <= 0')
  const subtractForSender = db.prepare(
    `update sender_share set count = count - 1, bytes = bytes - ?
     where sender_network = ? and mailbox = ?`,
  )
  const deleteSender = db.prepare(
    'delete from sender_share where sender_network = ? and mailbox = ? and count <= 0',
  )

  function subtractCounts({
    mailbox,
    size,
    stored,
    sender_network: network,
  }: StoredMessageRow): void {
    if (!isSharedMailbox(mailbox)) {
      subtractInSession.run(size, mailbox)
      return
    }
    const bytes = stored ?? size
    subtractInShared.run(bytes, mailbox)
    if (network === null) return
    subtractForSender.run(bytes, network, mailbox)
    deleteSender.run(network, mailbox)
  }

  return function removeMessage(row: StoredMessageRow): void {
    drop.run(row.mailbox, row.id)
    if (row.mailbox === POOL) {
      subtractAtAddress.run(row.size, row.recipient)
      deleteAddress.run(row.recipient)
    }
    subtractCounts(row)
    if (dropLast.run(row.raw_id).changes === 0) unreference.run(row.raw_id)
    else for (const statement of dropContent) statement.run(row.raw_id)
  }
}
