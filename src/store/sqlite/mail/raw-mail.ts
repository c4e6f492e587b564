import { constants, zstdCompressSync } from 'node:zlib'
import type { Mail, RawMail, SenderChecks } from '../../../core/message.ts'
import type { ReceiveLimits } from '../../../core/recipient.ts'
import { isSharedMailbox } from '../../../core/session.ts'
import { resolveRecipients } from '../../resolve-recipients.ts'
import { checksOf, parsedOf, type RawRow, rawMailOf } from '../../rows.ts'
import type { AddMailResult, NewMail } from '../../store.ts'
import type { Db } from '../files.ts'
import type { Touch } from '../group-commit.ts'
import type { InsertMail } from './add-mail.ts'
import { recipientReads } from './recipients.ts'

interface KeepParsed {
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
      return row && rawMailOf(row)
    },
    readParsed: (rawId: number): Mail | undefined => parsedOf(parsed.get(rawId)),
    readSenderChecks: (rawId: number): SenderChecks | undefined => checksOf(checks.get(rawId)),
  }
}

export function mailWrites(db: Db, limits: ReceiveLimits, keep: InsertMail) {
  const { findRecipient } = recipientReads(db)
  const exists = db.prepare<[number], number>('select 1 from raw_mail where id = ?').pluck()
  const saveParsed = db.prepare('insert or replace into parsed_mail (raw_id, zstd) values (?, ?)')
  const keepChecks = db.prepare('update raw_mail set auth = ? where id = ?')

  return {
    addMail(mail: NewMail, touch: Touch): AddMailResult {
      // Shared mailboxes count bytes as stored, so it is packed before the decision. Other mail is packed once it is taken.
      const isForShared = mail.recipients.some(({ mailbox }) => isSharedMailbox(mailbox))
      const zstd = isForShared ? compress(mail.raw) : undefined
      const sized = { ...mail, size: mail.raw.length, stored: zstd?.length ?? 0 }
      const taken = resolveRecipients(sized, limits, ({ address }) =>
        findRecipient(address, mail.senderNetwork),
      )
      return taken === 'full' ? { outcome: 'full' } : keep({ ...mail, zstd }, taken, touch)
    },

    saveParsed({ rawId, zstd }: KeepParsed): void {
      if (exists.get(rawId) !== undefined) saveParsed.run(rawId, zstd)
    },

    saveSenderChecks({ rawId, checks }: KeepSenderChecks): void {
      keepChecks.run(JSON.stringify(checks), rawId)
    },
  }
}

const FAST = { [constants.ZSTD_c_compressionLevel]: 1 }
const MOST_AT_ONCE = 64 * 1024

export function compress(bytes: Uint8Array | string): Uint8Array {
  // zlib answers with a slice of a larger buffer; a copy of its own can be handed to another thread without copying.
  // Node takes room for 64 KB at each call unless told otherwise.
  const chunkSize = Math.min(bytes.length + 128, MOST_AT_ONCE)
  return new Uint8Array(zstdCompressSync(bytes, { params: FAST, chunkSize }))
}
