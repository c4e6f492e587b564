import {
  type Address,
  type Host,
  hostOf,
  wildcardAbove,
  withoutTag,
} from '../../../base/address.ts'
import { domainOf } from '../../../mail/domain-store.ts'
import { LEDGER_COLUMNS, type LedgerRow, recipientLedger } from '../../../mail/ledger-store.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import type { MailboxUsage } from '../../../mail/rules/recipient.ts'
import { catchAllAddress, type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import {
  type FoundRecipient,
  NO_USAGE,
  ownFacts,
  type RecipientRow,
  senderShareOf,
  sessionFacts,
  UNKNOWN_RECIPIENT,
} from '../../resolve-recipients.ts'
import type { Db } from '../files.ts'

type ShareRow = MailboxUsage & { mailbox: MailboxId }

/** Used at RCPT on a read-only connection, and inside the transaction by the writer. */
export function recipientReads(db: Db, hmac: LedgerHmac) {
  // One statement, because each one locks and unlocks the file.
  const byAddress = db.prepare<[string, string], RecipientRow>(
    `select mail_domain.*, session.id as mailbox, token_hash is not null and not cleared as owned, key_id,
       expires_at, count, bytes, only_from, max_messages, received
     from mail_domain left join session on address = ? where name = ?`,
  )
  const inLedger = db
    .prepare<[string], number>('select 1 from address_ledger where hmac = ?')
    .pluck()
  const ledger = db.prepare<[], LedgerRow>(`select ${LEDGER_COLUMNS} from ledger_state`)
  const inPool = db.prepare<[string], MailboxUsage>(
    'select count, bytes from pool_address where address = ?',
  )
  const shared = db.prepare<[number], MailboxUsage>(
    'select count, bytes from shared_mailbox where id = ?',
  )

  const shares = db.prepare<[string], ShareRow>(
    'select mailbox, count, bytes from sender_share where sender_network = ?',
  )

  /** With the domain that is named itself, else with the wildcard above the host. */
  const findRow = (address: Address) => {
    const host = hostOf(address)
    const named = byAddress.get(address, host)
    if (named && !named.removed) return named
    const wildcard = wildcardAbove(host)
    return (wildcard && byAddress.get(address, wildcard)) ?? named
  }

  const ownBytes = db
    .prepare<[string], number>('select own_bytes from key_view where key_id = ?')
    .pluck()
  const ofOwnDomain = (row: RecipientRow, owner: string, host: Host) => {
    const catchAll = row.mailbox === null ? byAddress.get(catchAllAddress(host), host) : undefined
    return ownFacts(row, { bytes: ownBytes.get(owner), catchAll })
  }

  const isInLedger = (address: Address) => inLedger.get(hmac.of(address)) !== undefined

  return {
    findRecipient(address: Address, senderNetwork?: string): FoundRecipient {
      const row = findRow(address)
      if (!row) return { ...UNKNOWN_RECIPIENT, keyId: undefined }
      if (row.owner !== null) return ofOwnDomain(row, row.owner, hostOf(address))
      const ofSession = sessionFacts(row)
      // Usually the other tables are not needed.
      if (ofSession) return ofSession
      return {
        domain: domainOf(row),
        session: undefined,
        keyId: undefined,
        inLedger: isInLedger(address) || isInLedger(withoutTag(address)),
        ledger: recipientLedger(ledger.get()),
        poolAddress: inPool.get(address) ?? NO_USAGE,
        pool: shared.get(POOL) ?? NO_USAGE,
        operator: shared.get(OPERATOR) ?? NO_USAGE,
        senderShare:
          senderNetwork === undefined ? undefined : senderShareOf(shares.all(senderNetwork)),
      }
    },
  }
}
