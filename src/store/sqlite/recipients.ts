import { type Address, hostOf, withoutTag } from '../../core/address.ts'
import { secretHash } from '../../core/id.ts'
import type { Level } from '../../core/recipient.ts'
import { type Mailbox, type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import { type FoundRecipient, NOTHING, NOWHERE } from '../resolve-recipients.ts'
import { type DomainRow, domainOf } from '../rows.ts'
import type { Db } from './files.ts'

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

/** A domain of ours, and the session that holds the address there, if any. */
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

/** Read at RCPT by a read-only connection, and inside the commit by the writer. */
export function recipientReads(db: Db) {
  // One statement: on a read-only connection each one takes and drops a lock of the file.
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

  function shareOf(senderNetwork: string): { pool: Level; operator: Level } {
    const held = shares.all(senderNetwork)
    const of = (mailbox: MailboxId) => held.find((row) => row.mailbox === mailbox) ?? NOTHING
    return { pool: of(POOL), operator: of(OPERATOR) }
  }

  const isInLedger = (address: Address) => inLedger.get(secretHash(address)) !== undefined

  function readShared(mailbox: MailboxId): Mailbox {
    const row = shared.get(mailbox)
    if (!row) throw new Error(`mailbox ${mailbox} is not a shared one`)
    const { last_id: lastId, ...rest } = row
    return { ...rest, lastId }
  }

  return {
    readShared,
    findRecipient(address: Address, senderNetwork?: string): FoundRecipient {
      const row = byAddress.get(address, hostOf(address))
      if (!row) return { ...NOWHERE, keyId: undefined }
      const domain = domainOf(row)
      // The usual case, decided without the other tables.
      if (row.mailbox !== null) {
        const { mailbox: id, owned, expires_at: expiresAt, count, bytes } = row
        // Ended by its owner: over at once, whatever the clock of a mail in flight says.
        const session = owned ? { id, expiresAt: new Date(expiresAt), count, bytes } : undefined
        return { ...NOWHERE, domain, session, keyId: row.key_id ?? undefined, everHeld: true }
      }
      return {
        ...NOWHERE,
        domain,
        keyId: undefined,
        everHeld: isInLedger(address) || isInLedger(withoutTag(address)),
        poolAddress: inPool.get(address) ?? NOWHERE.poolAddress,
        pool: readShared(POOL),
        operator: readShared(OPERATOR),
        senderShare: senderNetwork === undefined ? undefined : shareOf(senderNetwork),
      }
    },
  }
}
