import type { Address } from '../base/address.ts'
import { type AddressRules, NO_RULES } from '../shared/address-rules.ts'
import type { SenderPattern } from '../shared/sender-pattern.ts'
import type { Message } from './rules/message.ts'
import { isAddressReserved, isLive, type MailboxId, type Session } from './rules/session.ts'
import type { NewSession, Revival } from './store.ts'

/** Without the reference to its raw mail, which differs between engines. */
export interface MessageRow {
  mailbox: MailboxId
  id: number
  recipient: Address
  sender_name: string
  sender_email: string
  subject: string
  received_at: number
  size: number
  code: string | null
  preview: string | null
  attachments: number | null
}

export function messageOf(row: MessageRow, rawId: number): Message {
  return {
    id: row.id,
    rawId,
    recipient: row.recipient,
    senderName: row.sender_name,
    senderEmail: row.sender_email,
    subject: row.subject,
    receivedAt: new Date(row.received_at),
    size: row.size,
    code: row.code ?? undefined,
    preview: row.preview ?? undefined,
    attachments: row.attachments ?? undefined,
  }
}

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

/** For the columns only_from and max_messages. */
export function ruleValues({
  onlyFrom,
  maxMessages,
}: AddressRules): [string | null, number | null] {
  return [onlyFrom.length === 0 ? null : onlyFrom.join(), maxMessages ?? null]
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
}

export const SESSION_COLUMNS = `id, address, token_hash, key_id, account_id, created_at, expires_at, version, codes,
  last_id, count, bytes, cleared, only_from, max_messages, received`

export function sessionOf(row: SessionRow): Session {
  return {
    id: row.id,
    // A row found by token or just created has an address.
    address: row.address as Address,
    keyId: row.key_id ?? undefined,
    accountId: row.account_id ?? undefined,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    // All three only rise, so no two states have the same sum. Ids follow the clock, so the sum is new even after the store
    // has lost its last writes, as in a failover to a replica.
    version: row.version + row.codes + row.last_id,
    lastId: row.last_id,
    count: row.count,
    bytes: row.bytes,
    received: row.received,
    rules: rulesOf(row),
  }
}

/** A swept session is not extendable, even if the clock has stepped back: its mail is gone. */
export function isExtendable(row: SessionRow, now: Date): boolean {
  return row.token_hash !== null && !row.cleared && isLive(spanOf(row), now)
}

/** The new session of an owner who revives an expired one; undefined if that is live, or its reservation has ended. */
export function revivedSession(
  row: SessionRow,
  { now, expiresAt, cooldownMs }: Revival,
): Omit<NewSession, 'cooldownMs'> | undefined {
  const { address, token_hash: tokenHash } = row
  if (!address || !tokenHash) return undefined
  if (isLive(spanOf(row), now) || !isAddressReserved(spanOf(row), now, cooldownMs)) return undefined
  const { keyId, accountId, rules } = sessionOf(row)
  return { address, tokenHash, keyId, accountId, createdAt: now, expiresAt, rules }
}

export function spanOf(row: SessionRow): { expiresAt: Date } {
  return { expiresAt: new Date(row.expires_at) }
}
