import { idBounds, nextId } from '../../../core/id.ts'
import type { Envelope, HeaderSummary } from '../../../core/message.ts'
import { isSharedMailbox, POOL } from '../../../core/session.ts'
import type { AddMailResult, NewMail, StoredRecipient } from '../../store.ts'
import type { Db } from '../files.ts'
import type { Touch } from '../group-commit.ts'
import { compress } from './raw-mail.ts'

/** Keeps a mail once, and a message of it for each of these recipients, who were decided on in the same commit. */
export type InsertMail = (
  /** `zstd`: its bytes, if they are packed already. */
  mail: NewMail & { zstd?: Uint8Array | undefined },
  recipients: StoredRecipient[],
  touch: Touch,
) => AddMailResult

/** There is one for each writer: it remembers the last id it gave. */
export function mailInsert(db: Db, random: () => number): InsertMail {
  const keepRaw = rawInsert(db, random)
  const deliver = messageInsert(db, random)

  return (mail, recipients, touch) => {
    if (recipients.length === 0) return { outcome: 'nobody' }
    // Packed here, not by the door: the door has more to do, and hands the bytes over without copying them.
    const zstd = mail.zstd ?? compress(mail.raw)
    const rawId = keepRaw({ ...mail, zstd }, recipients.length)
    const sizes = { size: mail.raw.length, stored: zstd.length }
    for (const recipient of recipients) {
      deliver(recipient, { ...mail, ...sizes, rawId })
      touch(recipient.mailbox)
    }
    return { outcome: 'kept', recipients }
  }
}

function rawInsert(db: Db, random: () => number) {
  const insertRaw = db.prepare(
    `insert into raw_mail (id, refs, client_ip, helo, mail_from, tls, protocol, received_at)
     values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertBytes = db.prepare('insert into raw_bytes (raw_id, zstd) values (?, ?)')
  let last = db.prepare<[], number | null>('select max(id) from raw_mail').pluck().get() ?? 0

  return (
    mail: { envelope: Envelope; receivedAt: Date; zstd: Uint8Array },
    refs: number,
  ): number => {
    const { clientIp, helo, mailFrom, tls, protocol } = mail.envelope
    last = nextId(last, mail.receivedAt, random())
    insertRaw.run(
      last,
      refs,
      clientIp,
      helo,
      mailFrom,
      tls ?? null,
      protocol,
      mail.receivedAt.getTime(),
    )
    insertBytes.run(last, mail.zstd)
    return last
  }
}

interface Delivery {
  rawId: number
  head: HeaderSummary
  receivedAt: Date
  size: number
  stored: number
  senderNetwork?: string | undefined
}

function messageInsert(db: Db, random: () => number) {
  const insert = db.prepare(
    `insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject,
       received_at, size, key_id, stored, sender_network)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  // Counts the mail and draws its id in one.
  const more = (table: string) =>
    db
      .prepare<[number, number, number, number], number>(
        `update ${table} set version = version + 1, last_id = max(last_id + ?, ?), count = count + 1,
           bytes = bytes + ? where id = ? returning last_id`,
      )
      .pluck()
  const moreInSession = more('session')
  const moreInShared = more('shared_mailbox')
  const moreInPool = db.prepare(
    `insert into pool_address (address, count, bytes) values (?, 1, ?)
     on conflict (address) do update set count = count + 1, bytes = bytes + excluded.bytes`,
  )

  const moreForSender = db.prepare(
    `insert into sender_share (sender_network, mailbox, count, bytes) values (?, ?, 1, ?)
     on conflict do update set count = count + 1, bytes = bytes + excluded.bytes`,
  )

  // Of all that a key may see the ids rise in the order of commit: of the pool and of every session with a key.
  const drawFromPool = db
    .prepare<[number, number], number>(
      `update shared_mailbox set last_id = max(last_id + ?, ?) where id = ${POOL} returning last_id`,
    )
    .pluck()

  const inSession = ({ size }: Delivery) =>
    ({ box: moreInSession, bytes: size, stored: null, network: null }) as const
  const inShared = ({ stored, senderNetwork }: Delivery) =>
    ({ box: moreInShared, bytes: stored, stored, network: senderNetwork ?? null }) as const

  return ({ mailbox, address, keyId }: StoredRecipient, mail: Delivery): void => {
    const { box, bytes, stored, network } = isSharedMailbox(mailbox)
      ? inShared(mail)
      : inSession(mail)
    const { step, least } = idBounds(mail.receivedAt, random())
    const from = keyId === undefined ? least : drawFromPool.get(step, least)
    const id = from === undefined ? from : box.get(step, from, bytes, mailbox)
    if (id === undefined) throw new Error('the mailbox went away inside the commit')
    const { senderName, senderEmail, subject } = mail.head
    const received = mail.receivedAt.getTime()
    insert.run(
      mailbox,
      id,
      mail.rawId,
      address,
      senderName,
      senderEmail,
      subject,
      received,
      mail.size,
      keyId ?? null,
      stored,
      network,
    )
    if (mailbox === POOL) moreInPool.run(address, mail.size)
    if (network !== null) moreForSender.run(network, mailbox, stored)
  }
}
