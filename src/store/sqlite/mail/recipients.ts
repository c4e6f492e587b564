import { type Address, hostOf, withoutTag } from '../../../core/address.ts'
import { secretHash } from '../../../core/id.ts'
import type { MailboxUsage } from '../../../core/recipient.ts'
import { type Mailbox, type MailboxId, OPERATOR, POOL } from '../../../core/session.ts'
import { EMPTY_LEVEL, type FoundRecipient, UNKNOWN_RECIPIENT } from '../../resolve-recipients.ts'
import { type DomainRow, domainOf } from '../../rows.ts'
import type { Db } from '../files.ts'

interface SharedRow {
  id: MailboxId
  version: number
  last_id: number
  count: number
  bytes: number
}

interface ShareRow {
  mailbox: MailboxId
  count: number
  bytes: number
}

/** A mail domain, and the session of the address, if any. */
type Row = DomainRow &
  (
    | { mailbox: null }
    | {
        mailbox: MailboxId
        owned: number
        key_id: string | null
        expires_at: number
        count: number
        bytes: number
      }
  )

/** Used at RCPT on a read-only connection, and inside the transaction by the writer. */
export function recipientReads(db: Db) {
  // One statement, because each one locks and unlocks the file.
  const byAddress = db.prepare<[string, string], Row>(
    `select mail_domain.*, session.id as mailbox, token_hash is not null as owned, key_id,
       expires_at, count, bytes
     from mail_domain left join session on address = ? where name = ?`,
  )
  const inLedger = db
    .prepare<[string], number>('select 1 from address_ledger where hash = ?')
    .pluck()
  const inPool = db.prepare<[string], { count: number; bytes: number }>(
    'select count, bytes from pool_address where address = ?',
  )
  const shared = db.prepare<[number], SharedRow>('select * from shared_mailbox where id = ?')

  const shares = db.prepare<[string], ShareRow>(
    'select mailbox, count, bytes from sender_share where sender_network = ?',
  )

  function shareOf(senderNetwork: string): { pool: MailboxUsage; operator: MailboxUsage } {
    const held = shares.all(senderNetwork)
    const of = (mailbox: MailboxId) => held.find((row) => row.mailbox === mailbox) ?? EMPTY_LEVEL
    return { pool: of(POOL), operator: of(OPERATOR) }
  }

  const isInLedger = (address: Address) => inLedger.get(secretHash(address)) !== undefined

  function readSharedMailbox(mailbox: MailboxId): Mailbox {
    const row = shared.get(mailbox)
    if (!row) throw new Error(`mailbox ${mailbox} is not a shared one`)
    const { last_id: lastId, ...rest } = row
    return { ...rest, lastId }
  }

  return {
    readSharedMailbox,
    findRecipient(address: Address, senderNetwork?: string): FoundRecipient {
      const row = byAddress.get(address, hostOf(address))
      if (!row) return { ...UNKNOWN_RECIPIENT, keyId: undefined }
      const domain = domainOf(row)
      // Usually the other tables are not needed.
      if (row.mailbox !== null) {
        const { mailbox: id, owned, expires_at: expiresAt, count, bytes } = row
        // Ended by its owner: not live, whatever the clock says.
        const session = owned ? { id, expiresAt: new Date(expiresAt), count, bytes } : undefined
        return {
          ...UNKNOWN_RECIPIENT,
          domain,
          session,
          keyId: row.key_id ?? undefined,
          everAssigned: true,
        }
      }
      return {
        ...UNKNOWN_RECIPIENT,
        domain,
        keyId: undefined,
        everAssigned: isInLedger(address) || isInLedger(withoutTag(address)),
        poolAddress: inPool.get(address) ?? UNKNOWN_RECIPIENT.poolAddress,
        pool: readSharedMailbox(POOL),
        operator: readSharedMailbox(OPERATOR),
        senderShare: senderNetwork === undefined ? undefined : shareOf(senderNetwork),
      }
    },
  }
}
