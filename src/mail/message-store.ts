import type { Address } from '../base/address.ts'
import { type Operation, query, type Value } from '../base/operation.ts'
import type { Volume } from './operator-store.ts'
import type { Message } from './rules/message.ts'
import { isSharedMailbox, type MailboxCounters, type MailboxId } from './rules/session.ts'
import type { MessagePage, MessageScan } from './store.ts'

interface MessageRow {
  id: number
  raw_id: number
  recipient: Address
  sender_name: string
  sender_email: string
  subject: string
  received_at: number
  size: number
  code: string | null
  preview: string | null
  attachments: number | null
  links: number | null
}

export const MESSAGE_COLUMNS = `message.id, message.raw_id, message.recipient, message.sender_name,
  message.sender_email, message.subject, message.received_at, message.size, message.code, message.preview,
  message.attachments, message.links`

/** Runs a statement that selects MESSAGE_COLUMNS. */
export function* messages(text: string, values: readonly Value[]): Operation<Message[]> {
  const rows = yield* query<MessageRow>(text, values)
  return rows.map((row) => ({
    id: row.id,
    rawId: row.raw_id,
    recipient: row.recipient,
    senderName: row.sender_name,
    senderEmail: row.sender_email,
    subject: row.subject,
    receivedAt: new Date(row.received_at),
    size: row.size,
    code: row.code ?? undefined,
    preview: row.preview ?? undefined,
    attachments: row.attachments ?? undefined,
    links: row.links ?? undefined,
  }))
}

const LIST = `select ${MESSAGE_COLUMNS} from mail.message
  where mailbox = $1 and id > $2 and id < $3 order by id desc limit $4`
const FIND = `select ${MESSAGE_COLUMNS} from mail.message where mailbox = $1 and id = $2`

export const messageReads = {
  listMessages: (
    mailbox: MailboxId,
    { sinceId, beforeId = Number.MAX_SAFE_INTEGER, limit }: MessagePage,
  ): Operation<Message[]> => messages(LIST, [mailbox, sinceId, beforeId, limit]),
  *listMessageIds(mailbox: MailboxId): Operation<number[]> {
    const rows = yield* query<{ id: number }>(
      'select id from mail.message where mailbox = $1 order by id desc',
      [mailbox],
    )
    return rows.map(({ id }) => id)
  },
  *readSharedMailbox(mailbox: MailboxId): Operation<MailboxCounters> {
    const [row] = yield* query<Omit<MailboxCounters, 'lastId'> & { last_id: number }>(
      'select id, version, last_id, count, bytes from mail.shared_mailbox where id = $1',
      [mailbox],
    )
    if (!row) throw new Error(`mailbox ${mailbox} is not a shared one`)
    const { last_id: lastId, ...rest } = row
    return { ...rest, lastId }
  },
  *findMessage(mailbox: MailboxId, id: number): Operation<Message | undefined> {
    return (yield* messages(FIND, [mailbox, id]))[0]
  },
}

/**
 * Removes a reference to each of these raw mails, per occurrence, and deletes those without any left. `endedAt`: those that are
 * deleted soon after this time anyway may be left.
 */
export type ReleaseRaws = (rawIds: readonly number[], endedAt?: Date) => Operation<void>

/** Each in one transaction. */
export function messageWrites(releaseRaws: ReleaseRaws) {
  return {
    *saveScan({ mailbox, id, code, preview, attachments, links }: MessageScan): Operation<boolean> {
      const owned = yield* query(
        `select 1 from mail.session
         where id = $1 and token_hash is not null and not cleared for no key update`,
        [mailbox],
      )
      if (owned.length === 0) return false
      const noted = yield* query(
        `update mail.message set code = $3, preview = $4, attachments = $5, links = $6
         where mailbox = $1 and id = $2 and links is null returning id`,
        [mailbox, id, code, preview, attachments, links],
      )
      if (noted.length === 0) return false
      yield* query('update mail.session set codes = codes + 1 where id = $1', [mailbox])
      return true
    },
    *deleteMessages(
      mailbox: MailboxId,
      ids: readonly number[],
      tokenHash?: string,
    ): Operation<Volume> {
      const isAllowed = tokenHash === undefined || (yield* lockToken(mailbox, tokenHash))
      return isAllowed ? yield* removeMessages(mailbox, ids, releaseRaws) : NOTHING
    },
  }
}

const NOTHING: Volume = { messages: 0, bytes: 0 }

/** Whether the session has this token, which then stays until the commit. */
function* lockToken(mailbox: MailboxId, tokenHash: string): Operation<boolean> {
  const owned = yield* query(
    'select 1 from mail.session where id = $1 and token_hash = $2 for no key update',
    [mailbox, tokenHash],
  )
  return owned.length === 1
}

interface RemovedRow {
  raw_id: number
  size: number
  stored: number
}

// Mail that version 0.1.0 stored after the migration has no stored size.
const STORED = 'coalesce(stored, size)'
const THESE = 'mail.message where mailbox = $1 and id = any($2::bigint[])'

/** Deletes messages of one mailbox, subtracts them from its counters, and releases their raw mail. */
export function* removeMessages(
  mailbox: MailboxId,
  ids: readonly number[],
  releaseRaws: ReleaseRaws,
  endedAt?: Date,
): Operation<Volume> {
  const isShared = isSharedMailbox(mailbox)
  const box = isShared ? 'mail.shared_mailbox' : 'mail.session'
  // Locked first, as when mail is added.
  yield* query(`select 1 from ${box} where id = $1 for no key update`, [mailbox])
  if (isShared) yield* subtractShares(mailbox, ids)
  const gone = yield* query<RemovedRow>(
    `delete from ${THESE} returning raw_id, size, ${STORED} as stored`,
    [mailbox, ids],
  )
  if (gone.length === 0) return NOTHING
  const sum = (key: 'size' | 'stored') => gone.reduce((all, row) => all + row[key], 0)
  yield* query(
    `update ${box} set version = version + 1, count = count - $2, bytes = bytes - $3 where id = $1`,
    [mailbox, gone.length, sum(isShared ? 'stored' : 'size')],
  )
  const rawIds = gone.map((row) => row.raw_id)
  yield* releaseRaws(rawIds, endedAt)
  return { messages: gone.length, bytes: sum('size') }
}

/** From what each sender holds of a shared mailbox. */
function* subtractShares(mailbox: MailboxId, ids: readonly number[]): Operation<void> {
  const values = [mailbox, ids]
  yield* query(
    `update mail.sender_share as share
     set count = share.count - less.count, bytes = share.bytes - less.bytes
     from (select sender_network, count(*) as count, sum(${STORED}) as bytes from ${THESE}
       group by sender_network) as less
     where share.mailbox = $1 and share.sender_network = less.sender_network`,
    values,
  )
  yield* query(
    `delete from mail.sender_share where mailbox = $1 and count <= 0
       and sender_network in (select sender_network from ${THESE})`,
    values,
  )
}
