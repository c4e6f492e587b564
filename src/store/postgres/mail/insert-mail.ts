import { isSharedMailbox, type MailboxId } from '../../../mail/rules/session.ts'
import type { NewMail, StoredRecipient } from '../../../mail/store.ts'
import type { Transaction } from '../connection/connections.ts'
import {
  addToMailbox,
  type HeldShare,
  type LockedMailboxes,
  type Retention,
  type SessionBox,
} from './mailbox-locks.ts'
import { rawIdOf } from './partition-key.ts'

export type CompressedMail = Omit<NewMail, 'raw'> & {
  size: number
  zstd: Uint8Array
  serial: number
}

interface MailInsertDeps {
  boxes: LockedMailboxes
  retention: Retention
  random: () => number
}

/** Collects the mail of a transaction in order; one statement then inserts all of it. */
export function mailInsert({ boxes, retention, random }: MailInsertDeps) {
  const mails: (CompressedMail & { start: number; copies: Map<number, number> })[] = []
  const messages: MessageValues[] = []
  let bytes = 0

  return {
    /** A raw mail for each partition, and a message for each recipient. */
    add(mail: CompressedMail, recipients: readonly StoredRecipient[]): void {
      const { size, receivedAt, senderNetwork } = mail
      const stored = mail.zstd.length
      const copies = new Map<number, number>()
      for (const { mailbox, address, own } of recipients) {
        const added = addToMailbox(
          boxes,
          { mailbox, size, stored, senderNetwork, receivedAt, random: random() },
          retention,
        )
        copies.set(added.bucket, (copies.get(added.bucket) ?? 0) + 1)
        const permanent = own?.permanent ? true : undefined
        messages.push({ ...added, mailbox, recipient: address, permanent, mail })
      }
      mails.push({ ...mail, copies, start: bytes + 1 })
      bytes += mail.zstd.length
    },

    /** Sent together with COMMIT. */
    queueInsert(db: Transaction): void {
      if (messages.length === 0) return
      const raws = mails.flatMap(({ copies, ...mail }) =>
        [...copies].map(([bucket, refs]) => ({ ...mail, bucket, refs })),
      )
      const sessions = [...boxes.sessions.values()].filter(({ added }) => added.count > 0)
      const shared = [...boxes.shared.values()]
      const shares = [...boxes.shares.values()].filter(({ added }) => added.count > 0)
      const values = [
        Buffer.concat(mails.map(({ zstd }) => zstd)),
        ...columns(raws, RAW_COLUMNS),
        ...columns(messages, MESSAGE_COLUMNS),
        ...columns(sessions, BOX_COLUMNS),
        ...columns(shared, BOX_COLUMNS),
        ...columns(shares, SHARE_COLUMNS),
      ]
      db.queueBeforeCommit(() => db.query(INSERT_MAIL, values))
    },
  }
}

interface MessageValues {
  mailbox: MailboxId
  bucket: number
  id: number
  recipient: string
  keyId: string | undefined
  permanent: true | undefined
  mail: CompressedMail
}

type RawValues = CompressedMail & { start: number; bucket: number; refs: number }
type Value = string | number | boolean | null | undefined

const RAW_COLUMNS: ((raw: RawValues) => Value)[] = [
  ({ bucket }) => bucket,
  ({ serial }) => serial,
  ({ refs }) => refs,
  ({ envelope }) => envelope.clientIp,
  ({ envelope }) => envelope.helo,
  ({ envelope }) => envelope.mailFrom,
  ({ envelope }) => envelope.tls,
  ({ envelope }) => envelope.protocol,
  ({ receivedAt }) => receivedAt.getTime(),
  ({ start }) => start,
  ({ zstd }) => zstd.length,
]

const MESSAGE_COLUMNS: ((message: MessageValues) => Value)[] = [
  ({ mailbox }) => mailbox,
  ({ id }) => id,
  ({ bucket, mail }) => rawIdOf(bucket, mail.serial),
  ({ recipient }) => recipient,
  ({ mail }) => mail.head.senderName,
  ({ mail }) => mail.head.senderEmail,
  ({ mail }) => mail.head.subject,
  ({ mail }) => mail.receivedAt.getTime(),
  ({ mail }) => mail.size,
  ({ keyId }) => keyId,
  ({ mailbox, mail }) => (isSharedMailbox(mailbox) ? mail.zstd.length : null),
  ({ mailbox, mail }) => (isSharedMailbox(mailbox) ? mail.senderNetwork : null),
  ({ permanent }) => permanent,
]

type Box = Pick<SessionBox, 'id' | 'added' | 'last_id'>

const BOX_COLUMNS: ((box: Box) => Value)[] = [
  ({ id }) => id,
  ({ added }) => added.count,
  ({ added }) => added.bytes,
  ({ last_id: lastId }) => lastId,
]

const SHARE_COLUMNS: ((share: HeldShare) => Value)[] = [
  ({ network }) => network,
  ({ mailbox }) => mailbox,
  ({ added }) => added.count,
  ({ added }) => added.bytes,
]

function columns<Row>(rows: readonly Row[], getters: ((row: Row) => Value)[]): Value[][] {
  return getters.map((get) => rows.map(get))
}

// The bytes of all mails are one binary parameter; in an array they would be sent as hex.
// The text does not depend on the number of mails, so it is prepared once.
const INSERT_MAIL = `
  with raws as (
    insert into mail.raw_mail (bucket, serial, refs, client_ip, helo, mail_from, tls, protocol,
      received_at, zstd)
    select bucket, serial, refs, client_ip, helo, mail_from, tls, protocol, received_at,
      substring($1::bytea from start for length)
    from unnest($2::integer[], $3::bigint[], $4::integer[], $5::text[], $6::text[], $7::text[],
      $8::text[], $9::text[], $10::bigint[], $11::integer[], $12::integer[])
      as raw (bucket, serial, refs, client_ip, helo, mail_from, tls, protocol, received_at, start, length)
  ), messages as (
    insert into mail.message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject,
      received_at, size, key_id, stored, sender_network, permanent)
    select * from unnest($13::bigint[], $14::bigint[], $15::bigint[], $16::text[], $17::text[],
      $18::text[], $19::text[], $20::bigint[], $21::integer[], $22::text[], $23::integer[],
      $24::text[], $25::boolean[])
  ), sessions as (
    update mail.session set version = version + more.count, last_id = more.last_id,
      count = session.count + more.count, bytes = session.bytes + more.bytes,
      received = received + more.count
    from unnest($26::bigint[], $27::integer[], $28::bigint[], $29::bigint[])
      as more (id, count, bytes, last_id)
    where session.id = more.id
  ), shares as (
    insert into mail.sender_share as share (sender_network, mailbox, count, bytes)
    select * from unnest($34::text[], $35::bigint[], $36::integer[], $37::bigint[])
    on conflict (sender_network, mailbox)
    do update set count = share.count + excluded.count, bytes = share.bytes + excluded.bytes
  )
  update mail.shared_mailbox as box set version = version + more.count, last_id = more.last_id,
    count = box.count + more.count, bytes = box.bytes + more.bytes
  from unnest($30::bigint[], $31::integer[], $32::bigint[], $33::bigint[])
    as more (id, count, bytes, last_id)
  where box.id = more.id`
