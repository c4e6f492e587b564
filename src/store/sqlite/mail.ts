import { zstdDecompressSync } from 'node:zlib'
import type { Mail, RawMail, SenderChecks } from '../../core/message.ts'
import {
  place,
  type ReceiveLimits,
  type Recipient,
  type RecipientFacts,
} from '../../core/recipient.ts'
import { type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import type { Kept, KeptRecipient, NewMail } from '../store.ts'
import type { KeepMail } from './delivery.ts'
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

interface KeepSenderChecks {
  rawId: number
  checks: SenderChecks
}

export function mailReads(db: Db) {
  const raw = db.prepare<[number], RawRow>(
    'select * from raw_mail join raw_bytes on raw_id = id where id = ?',
  )
  const parsed = db
    .prepare<[number], Uint8Array>('select zstd from parsed_mail where raw_id = ?')
    .pluck()
  const checks = db
    .prepare<[number], string | null>('select auth from raw_mail where id = ?')
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
    readSenderChecks(rawId: number): SenderChecks | undefined {
      const text = checks.get(rawId)
      return text ? (JSON.parse(text) as SenderChecks) : undefined
    },
  }
}

export function mailWrites(db: Db, limits: ReceiveLimits, keep: KeepMail) {
  const { findRecipient } = recipientReads(db)
  const exists = db.prepare<[number], number>('select 1 from raw_mail where id = ?').pluck()
  const keepParsed = db.prepare('insert or replace into parsed_mail (raw_id, zstd) values (?, ?)')
  const keepChecks = db.prepare('update raw_mail set auth = ? where id = ?')

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
      return keep(mail, taken, touch)
    },

    keepParsed({ rawId, zstd }: KeepParsed): void {
      if (exists.get(rawId) !== undefined) keepParsed.run(rawId, zstd)
    },

    keepSenderChecks({ rawId, checks }: KeepSenderChecks): void {
      keepChecks.run(JSON.stringify(checks), rawId)
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
