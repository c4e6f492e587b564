import {
  type Address,
  type DomainName,
  type Host,
  hostOf,
  wildcardAbove,
  withoutTag,
} from '../../../base/address.ts'
import { type DomainRow, domainOf } from '../../../mail/domain-store.ts'
import { LEDGER_COLUMNS, type LedgerRow, recipientLedger } from '../../../mail/ledger-store.ts'
import type { LedgerHmac } from '../../../mail/rules/ledger.ts'
import type { MailboxUsage, RecipientFacts } from '../../../mail/rules/recipient.ts'
import { catchAllAddress, type MailboxId, OPERATOR, POOL } from '../../../mail/rules/session.ts'
import {
  ownFacts,
  type RecipientRow,
  senderShareOf,
  sessionFacts,
  UNKNOWN_RECIPIENT,
} from '../../resolve-recipients.ts'
import { batchLookups } from '../connection/batching.ts'
import type { Db } from '../connection/connections.ts'
import { runOperation } from '../connection/operations.ts'
import { readShares } from './mailbox-locks.ts'

/** At RCPT; inside the transaction locked rows are used instead, see add-mail.ts. */
export function recipientReads(db: Db, hmac: LedgerHmac) {
  const find = batchLookups(
    (addresses: readonly Address[]): Promise<Map<Address, RecipientRow>> =>
      byDomain(addresses, (asked, names) =>
        db.query(
          `select asked.address as asked, domain.id, name, active, removed, sessions, reader,
             ttl_seconds, owner, session.id as mailbox, token_hash is not null and not cleared as owned,
             key_id, expires_at, count, bytes, only_from, max_messages, received
           from unnest($1::text[], $2::text[]) as asked (address, domain)
           join mail.mail_domain as domain on name = asked.domain
           left join mail.session on session.address = asked.address`,
          [asked, names],
        ),
      ),
  )

  const ofOwnDomain = async (row: RecipientRow, owner: string, host: Host) => {
    const [bytes, catchAll] = await Promise.all([
      readOwnBytes(db, [owner]),
      row.mailbox === null ? find(catchAllAddress(host)) : undefined,
    ])
    return ownFacts(row, { bytes: bytes.get(owner), catchAll })
  }

  return {
    async findRecipient(address: Address, senderNetwork?: string): Promise<RecipientFacts> {
      const row = await find(address)
      if (!row) return UNKNOWN_RECIPIENT
      if (row.owner !== null) return await ofOwnDomain(row, row.owner, hostOf(address))
      // Usually the other tables are not needed.
      const ofSession = sessionFacts(row)
      if (ofSession) return ofSession
      const [shared, held] = await Promise.all([
        db.query<SharedUsage>('select id, count, bytes from mail.shared_mailbox'),
        senderNetwork === undefined ? undefined : runOperation(db, readShares([senderNetwork])),
      ])
      const facts = await sharedFacts(db, [address], { shared, hmac })
      const found = facts.get(address) ?? { ...UNKNOWN_RECIPIENT, domain: domainOf(row) }
      return held ? { ...found, senderShare: senderShareOf(held) } : found
    },
  }
}

/** Bytes of all mail at domains of these keys. Exact while the pool is locked, as it is by all who add such mail. */
export async function readOwnBytes(
  db: Db,
  owners: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ key_id: string; own_bytes: number }>(
    'select key_id, own_bytes from mail.key_view where key_id = any($1::text[])',
    [owners],
  )
  return new Map(rows.map((row) => [row.key_id, row.own_bytes]))
}

/** Looks addresses up with the domains that are named themselves, then the others with the wildcards above their hosts. */
async function byDomain<Row extends { id: number | null; removed: unknown }>(
  addresses: readonly Address[],
  lookUp: (
    asked: readonly Address[],
    names: readonly DomainName[],
  ) => Promise<(Row & { asked: Address })[]>,
): Promise<Map<Address, Row>> {
  const named = await lookUp(addresses, addresses.map(hostOf))
  const found = new Map<Address, Row>(named.map((row) => [row.asked, row]))
  const below = addresses.flatMap((address) => {
    const row = found.get(address)
    const name = wildcardAbove(hostOf(address))
    return name && (!row || row.id === null || row.removed) ? [{ address, name }] : []
  })
  if (below.length === 0) return found
  const rows = await lookUp(
    below.map(({ address }) => address),
    below.map(({ name }) => name),
  )
  for (const row of rows) if (row.id !== null) found.set(row.asked, row)
  return found
}

type SharedUsage = MailboxUsage & { id: MailboxId }

type FactsRow = (DomainRow | { id: null; removed: null }) & {
  ever_held: boolean
  count: number
  bytes: number
} & (LedgerRow | { reason: null })

/** The facts about addresses without a session. Exact while the shared mailboxes are locked. */
export async function sharedFacts(
  db: Db,
  addresses: readonly Address[],
  { shared, hmac }: { shared: readonly SharedUsage[]; hmac: LedgerHmac },
): Promise<Map<Address, RecipientFacts>> {
  const [pool, operator] = [POOL, OPERATOR].map((id) => shared.find((box) => box.id === id))
  const rows = await byDomain(addresses, (asked, names) =>
    db.query<FactsRow & { asked: Address }>(
      `select asked.address as asked, domain.id, name, active, removed,
         sessions, reader, ttl_seconds, owner,
         exists (select 1 from mail.address_ledger where hmac in (asked.entry, asked.untagged))
           as ever_held,
         kept.count, kept.bytes, ${LEDGER_COLUMNS}
       from unnest($1::text[], $2::text[], $3::text[], $4::text[])
         as asked (address, domain, entry, untagged)
       left join mail.mail_domain as domain on name = asked.domain
       left join mail.ledger_state on true
       cross join lateral (
         select count(*), coalesce(sum(size), 0)::bigint as bytes from mail.message
         where mailbox <= ${POOL} and recipient = asked.address
       ) as kept`,
      [asked, names, asked.map(hmac.of), asked.map((address) => hmac.of(withoutTag(address)))],
    ),
  )
  const facts = [...rows].map(
    ([address, row]) =>
      [
        address,
        {
          ...UNKNOWN_RECIPIENT,
          domain: row.id === null ? undefined : domainOf(row),
          inLedger: row.ever_held,
          ledger: recipientLedger(row.reason === null ? undefined : row),
          poolAddress: { count: row.count, bytes: row.bytes },
          pool: pool ?? UNKNOWN_RECIPIENT.pool,
          operator: operator ?? UNKNOWN_RECIPIENT.operator,
        },
      ] as const,
  )
  return new Map(facts)
}
