import { type Address, hostOf } from '../../core/address.ts'
import { secretHash } from '../../core/id.ts'
import type { RecipientFacts } from '../../core/recipient.ts'
import { type Mailbox, type MailboxId, OPERATOR, POOL } from '../../core/session.ts'
import { domainReads } from './domains.ts'
import type { Db } from './files.ts'
import type { SessionRow } from './sessions.ts'

interface SharedRow {
  id: MailboxId
  version: number
  last_id: number
  count: number
  bytes: number
}

const NOTHING = { count: 0, bytes: 0 }

/** Read at RCPT by a read-only connection, and inside the commit by the writer. */
export function recipientReads(db: Db) {
  const { findDomain } = domainReads(db)
  const bySession = db.prepare<[string], SessionRow>('select * from session where address = ?')
  const inLedger = db
    .prepare<[string], number>('select 1 from address_ledger where hash = ?')
    .pluck()
  const inPool = db.prepare<[string], { count: number; bytes: number }>(
    'select count, bytes from pool_address where address = ?',
  )
  const shared = db.prepare<[number], SharedRow>('select * from shared_mailbox where id = ?')

  function readShared(mailbox: MailboxId): Mailbox {
    const row = shared.get(mailbox)
    if (!row) throw new Error(`mailbox ${mailbox} is not a shared one`)
    const { last_id: lastId, ...rest } = row
    return { ...rest, lastId }
  }

  return {
    readShared,
    findRecipient(address: Address): RecipientFacts {
      const row = bySession.get(address)
      const facts = {
        domain: findDomain(hostOf(address)),
        session: row && {
          id: row.id,
          expiresAt: new Date(row.expires_at),
          count: row.count,
          bytes: row.bytes,
        },
      }
      // The usual case, decided without the other tables.
      if (row)
        return { ...facts, everHeld: true, poolAddress: NOTHING, pool: NOTHING, operator: NOTHING }
      return {
        ...facts,
        everHeld: inLedger.get(secretHash(address)) !== undefined,
        poolAddress: inPool.get(address) ?? NOTHING,
        pool: readShared(POOL),
        operator: readShared(OPERATOR),
      }
    },
  }
}
