import { hostOf } from '../../../base/address.ts'
import { idBounds, nextId } from '../../../base/id.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import type { ReceiveLimits } from '../../../mail/rules/recipient.ts'
import { isSharedMailbox, POOL } from '../../../mail/rules/session.ts'
import type { AddMailResult, NewMail, StoredRecipient } from '../../../mail/store.ts'
import type { Envelope, HeaderSummary } from '../../../shared/mail.ts'
import { compressMail } from '../../compression.ts'
import { resolveRecipients } from '../../resolve-recipients.ts'
import type { Db } from '../files.ts'
import { recipientReads } from './recipients.ts'

export function addMailWrites(
  db: Db,
  { limits, hmac }: { limits: ReceiveLimits; hmac: LedgerHmac },
  insertMail: InsertMail,
) {
  const { findRecipient } = recipientReads(db, hmac)
  const countRefused = db.prepare('update session set refused = refused + 1 where id = ?')

  return {
    addMail(mail: NewMail): AddMailResult {
      const zstd = compressMail(mail)
      const sized = { ...mail, size: mail.raw.length, stored: zstd.length }
      const resolved = resolveRecipients(
        sized,
        limits,
        ({ address }) => findRecipient(address, mail.senderNetwork),
        (mailbox) => void countRefused.run(mailbox),
      )
      if (typeof resolved === 'string') return { outcome: resolved }
      insertMail({ ...sized, zstd }, resolved)
      return { outcome: 'stored', recipients: resolved }
    },
  }
}

type CompressedMail = Omit<NewMail, 'raw' | 'recipients'> & { size: number; zstd: Uint8Array }

/** Stores a mail once, and a message for each recipient; they were resolved in the same transaction. */
export type InsertMail = (mail: CompressedMail, recipients: StoredRecipient[]) => void

/** One per writer: it keeps the last id in memory. */
export function mailInsert(db: Db, random: () => number): InsertMail {
  const insertRaw = rawInsert(db, random)
  const insertMessage = messageInsert(db, random)

  return (mail, recipients) => {
    const rawId = insertRaw(mail, recipients.length)
    for (const recipient of recipients) {
      insertMessage(recipient, { ...mail, stored: mail.zstd.length, rawId })
    }
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

interface NewMessage {
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
       received_at, size, key_id, stored, sender_network, permanent)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  // Counts the mail and draws its id in one statement.
  const countIn = (table: string, more = '') =>
    db
      .prepare<[number, number, number, number], number>(
        `update ${table} set version = version + 1, last_id = max(last_id + ?, ?), count = count + 1,
           bytes = bytes + ? ${more} where id = ? returning last_id`,
      )
      .pluck()
  const countInSession = countIn('session', ', received = received + 1')
  const countInShared = countIn('shared_mailbox')
  const countForSender = db.prepare(
    `insert into sender_share (sender_network, mailbox, count, bytes) values (?, ?, 1, ?)
     on conflict do update set count = count + 1, bytes = bytes + excluded.bytes`,
  )
  const countTaken = db.prepare(
    `update own_domain set taken = taken + 1 where name = ? and state <> 'pending'`,
  )
  // Ids of all mail that a key can see, in the pool and in every session of the key, rise in the order of commit.
  const drawFromPool = db
    .prepare<[number, number], number>(
      `update shared_mailbox set last_id = max(last_id + ?, ?) where id = ${POOL} returning last_id`,
    )
    .pluck()

  const inSession = ({ size }: NewMessage) =>
    ({ count: countInSession, bytes: size, stored: null, network: null }) as const
  const inShared = ({ stored, senderNetwork }: NewMessage) =>
    ({ count: countInShared, bytes: stored, stored, network: senderNetwork ?? null }) as const

  return ({ mailbox, address, keyId, own }: StoredRecipient, mail: NewMessage): void => {
    const { count, bytes, stored, network } = isSharedMailbox(mailbox)
      ? inShared(mail)
      : inSession(mail)
    const { step, least } = idBounds(mail.receivedAt, random())
    const from = keyId === undefined ? least : drawFromPool.get(step, least)
    const id = from === undefined ? from : count.get(step, from, bytes, mailbox)
    if (id === undefined) throw new Error('the mailbox disappeared inside the transaction')
    const { senderName, senderEmail, subject } = mail.head
    insert.run(
      mailbox,
      id,
      mail.rawId,
      address,
      senderName,
      senderEmail,
      subject,
      mail.receivedAt.getTime(),
      mail.size,
      keyId ?? null,
      stored,
      network,
      own?.permanent ? 1 : null,
    )
    if (own) countTaken.run(hostOf(address))
    if (network !== null) countForSender.run(network, mailbox, stored)
  }
}
