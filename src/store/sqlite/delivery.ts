import { idRule, nextId } from '../../core/id.ts'
import type { Envelope, MailHead } from '../../core/message.ts'
import { OPERATOR, POOL } from '../../core/session.ts'
import type { Kept, KeptRecipient, NewMail } from '../store.ts'
import type { Db } from './files.ts'
import type { Touch } from './group-commit.ts'
import { pack } from './pack.ts'

/** Keeps a mail once, and a message of it for each of these recipients, who were decided on in the same commit. */
export type KeepMail = (mail: NewMail, recipients: KeptRecipient[], touch: Touch) => Kept

/** There is one for each writer: it remembers the last id it gave. */
export function mailKeeper(db: Db, random: () => number): KeepMail {
  const keepRaw = rawInsert(db, random)
  const deliver = delivery(db, random)

  return (mail, recipients, touch) => {
    if (recipients.length === 0) return { outcome: 'nobody' }
    const rawId = keepRaw(mail, recipients.length)
    const size = mail.raw.length
    for (const recipient of recipients) {
      deliver(recipient, { ...mail, rawId, size })
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
    mail: { envelope: Envelope; receivedAt: Date; raw: Uint8Array },
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
    // Packed here, not by the door: the door has more to do, and hands the bytes over without copying them.
    insertBytes.run(last, pack(mail.raw))
    return last
  }
}

interface Delivery {
  rawId: number
  head: MailHead
  receivedAt: Date
  size: number
}

function delivery(db: Db, random: () => number) {
  const insert = db.prepare(
    `insert into message (mailbox, id, raw_id, recipient, sender_name, sender_email, subject,
       received_at, size, key_id)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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

  // Of all that a key may see the ids rise in the order of commit: of the pool and of every session with a key.
  const drawFromPool = db
    .prepare<[number, number], number>(
      `update shared_mailbox set last_id = max(last_id + ?, ?) where id = ${POOL} returning last_id`,
    )
    .pluck()

  return ({ mailbox, address, keyId }: KeptRecipient, mail: Delivery): void => {
    const box = mailbox === POOL || mailbox === OPERATOR ? moreInShared : moreInSession
    const { step, least } = idRule(mail.receivedAt, random())
    const from = keyId === undefined ? least : drawFromPool.get(step, least)
    const id = from === undefined ? from : box.get(step, from, mail.size, mailbox)
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
    )
    if (mailbox === POOL) moreInPool.run(address, mail.size)
  }
}
