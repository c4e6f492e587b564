import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { idRule, nextId } from '../../core/id.ts'
import type { Envelope, Mail, MailHead, RawMail } from '../../core/message.ts'
import {
  place,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../../core/recipient.ts'
import { type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import type { Kept, KeptRecipient, NewMail } from '../store.ts'
import type { Db } from './files.ts'
import type { Touch } from './group-commit.ts'
import { recipientReads } from './recipients.ts'

interface RawRow {
  zstd: Uint8Array
  client_ip: string
  helo: string
  mail_from: string
  tls: string | null
  protocol: string
  received_at: number
}

export interface KeepParsed {
  rawId: number
  zstd: Uint8Array
}

const FAST = { [constants.ZSTD_c_compressionLevel]: 1 }
const MOST_AT_ONCE = 64 * 1024

export function pack(bytes: Uint8Array | string): Uint8Array {
  // zlib answers with a slice of a larger buffer; a copy of its own can be handed to another thread without copying.
  // Node takes room for 64 KB at each call unless told otherwise.
  const chunkSize = Math.min(bytes.length + 128, MOST_AT_ONCE)
  return new Uint8Array(zstdCompressSync(bytes, { params: FAST, chunkSize }))
}

export function mailReads(db: Db) {
  const raw = db.prepare<[number], RawRow>(
    'select * from raw_mail join raw_bytes on raw_id = id where id = ?',
  )
  const parsed = db
    .prepare<[number], Uint8Array>('select zstd from parsed_mail where raw_id = ?')
    .pluck()

  return {
    readRaw(rawId: number): RawMail | undefined {
      const row = raw.get(rawId)
      if (!row) return undefined
      return {
        bytes: zstdDecompressSync(row.zstd),
        clientIp: row.client_ip,
        helo: row.helo,
        mailFrom: row.mail_from,
        tls: row.tls ?? undefined,
        protocol: row.protocol,
        receivedAt: new Date(row.received_at),
      }
    },
    readParsed(rawId: number): Mail | undefined {
      const zstd = parsed.get(rawId)
      return zstd && (JSON.parse(zstdDecompressSync(zstd).toString()) as Mail)
    },
  }
}

export function mailWrites(db: Db, limits: ReceiveLimits, random: () => number) {
  const { findRecipient } = recipientReads(db)
  const keepRaw = rawInsert(db, random)
  const deliver = delivery(db, random)
  const exists = db.prepare<[number], number>('select 1 from raw_mail where id = ?').pluck()
  const keepParsed = db.prepare('insert or replace into parsed_mail (raw_id, zstd) values (?, ?)')

  return {
    addMail(mail: NewMail, touch: Touch): Kept {
      const size = mail.raw.length
      const rules = { limits, now: mail.receivedAt, size }
      const taken: KeptRecipient[] = []
      for (const { address, mailbox } of mail.recipients) {
        const facts = findRecipient(address)
        const found = place(address, withTaken(facts, taken, size), rules)
        if ('refused' in found && found.refused === 'full') return { outcome: 'full' }
        // The address may have changed hands between RCPT and now.
        if ('mailbox' in found && found.mailbox === mailbox) {
          taken.push({ address, mailbox, keyId: facts.keyId })
        }
      }
      if (taken.length === 0) return { outcome: 'nobody' }
      const rawId = keepRaw(mail, taken.length)
      for (const recipient of taken) {
        deliver(recipient, { ...mail, rawId, size })
        touch(recipient.mailbox)
      }
      return { outcome: 'kept', recipients: taken }
    },

    keepParsed({ rawId, zstd }: KeepParsed): void {
      if (exists.get(rawId) !== undefined) keepParsed.run(rawId, zstd)
    },
  }
}

/** The shared boxes as they will be when this mail's recipients so far have it. */
function withTaken(
  facts: RecipientFacts,
  taken: readonly Recipient[],
  size: number,
): RecipientFacts {
  const plus = (level: { count: number; bytes: number }, box: MailboxId) => {
    const more = taken.filter(({ mailbox }) => mailbox === box).length
    return { count: level.count + more, bytes: level.bytes + more * size }
  }
  return { ...facts, pool: plus(facts.pool, POOL), operator: plus(facts.operator, OPERATOR) }
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
