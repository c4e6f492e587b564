import type { Address, Host } from '../base/address.ts'
import { type AddressRules, NO_RULES } from '../shared/address-rules.ts'
import type { SenderPattern } from '../shared/sender-pattern.ts'
import type { MailboxId, Session } from './rules/session.ts'

/** A session that is live at $1. One without a token, or that was swept, has ended even if the clock has stepped back. */
export const LIVE = 'token_hash is not null and not cleared and expires_at > $1'
/** The session that keeps the catch-all mail of a domain is nobody's to list. */
export const NO_CATCH_ALL = `substr(address, 1, 1) <> '@'`

/** What an address accepts, and how many messages were ever stored for it. */
export interface RulesRow {
  /** Separated by commas; null: all senders. */
  only_from: string | null
  max_messages: number | null
  received: number
}

export function rulesOf({ only_from: senders, max_messages: maxMessages }: RulesRow): AddressRules {
  if (senders === null && maxMessages === null) return NO_RULES
  const onlyFrom = (senders?.split(',') ?? []) as SenderPattern[]
  return { onlyFrom, maxMessages: maxMessages ?? undefined }
}

export interface SessionRow extends RulesRow {
  id: MailboxId
  address: Address | null
  token_hash: string | null
  key_id: string | null
  account_id: number | null
  created_at: number
  expires_at: number
  version: number
  /** How many messages were scanned, see saveScan. */
  codes: number
  last_id: number
  count: number
  bytes: number
  cleared: boolean | number
  label: string | null
  own_domain: Host | null
  /** Mails that its rules refused. */
  refused: number
}

export const SESSION_COLUMNS = `id, address, token_hash, key_id, account_id, created_at, expires_at, version, codes,
  last_id, count, bytes, cleared, only_from, max_messages, received, label, refused, own_domain`

export function sessionOf(row: SessionRow): Session {
  return {
    id: row.id,
    // A row found by token or just created has an address.
    address: row.address as Address,
    keyId: row.key_id ?? undefined,
    accountId: row.account_id ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    // All four only rise, so no two states have the same sum. Ids follow the clock, so the sum is new even after the store
    // has lost its last writes, as in a failover to a replica.
    version: row.version + row.codes + row.refused + row.last_id,
    lastId: row.last_id,
    count: row.count,
    bytes: row.bytes,
    received: row.received,
    rules: rulesOf(row),
    ownDomain: row.own_domain ?? undefined,
    label: row.label ?? undefined,
    refused: row.refused,
  }
}
