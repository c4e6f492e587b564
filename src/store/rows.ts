import type { Address, Host, MailDomain } from '../base/address.ts'
import { type ApiKey, utcDay } from '../keys/rules.ts'
import type { Message, RawMail, SenderChecks } from '../mail/rules/message.ts'
import { isAddressReserved, isLive, type MailboxId, type Session } from '../mail/rules/session.ts'
import type { NewSession, Revival } from '../mail/store.ts'
import { type AddressRules, NO_RULES } from '../shared/address-rules.ts'
import type { Plan } from '../shared/plan.ts'
import type { SenderPattern } from '../shared/sender-pattern.ts'
import { CLAIM_MS, type OrderState, type Purchase } from '../shop/rules.ts'
import { decompress } from './compression.ts'
import type { ClaimOutcome, KeyClaim, Spent } from './shop-store.ts'

// Rows as both engines return them, and the values of core that they become.

export interface DomainRow {
  id: number
  name: Host
  active: boolean | number
  removed: boolean | number
  sessions: boolean | number
  reader: boolean | number
  ttl_seconds: number | null
}

export const DOMAIN_COLUMNS = 'id, name, active, removed, sessions, reader, ttl_seconds'

export function domainOf(row: DomainRow): MailDomain {
  return {
    id: row.id,
    name: row.name,
    active: Boolean(row.active),
    removed: Boolean(row.removed),
    sessions: Boolean(row.sessions),
    reader: Boolean(row.reader),
    ttlSeconds: row.ttl_seconds ?? undefined,
  }
}

export interface KeyRow {
  id: string
  prefix: string
  plan: string
  label: string
  state: ApiKey['state']
  max_requests: number
  max_per_day: number | null
  used: number
  day: number
  used_today: number
  period: number
  created_at: number
  expires_at: number | null
}

export function keyOf(row: KeyRow, now: Date): ApiKey {
  return {
    id: row.id,
    prefix: row.prefix,
    plan: row.plan,
    label: row.label,
    state: row.state,
    maxRequests: row.max_requests,
    maxPerDay: row.max_per_day ?? undefined,
    used: row.used,
    usedToday: row.day >= utcDay(now) ? row.used_today : 0,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
  }
}

/** The key after one request, if the statement that returned this row charged `after` more requests after it. */
export function spentOf(row: KeyRow, now: Date, after: number): Spent {
  const then = { ...row, used: row.used - after, used_today: row.used_today - after }
  return { ...keyOf(then, now), day: row.day, period: row.period }
}

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

export interface RawRow {
  zstd: Uint8Array
  client_ip: string
  helo: string
  mail_from: string
  tls: string | null
  protocol: string
  received_at: number
}

export async function rawMailOf(row: RawRow): Promise<RawMail> {
  return {
    bytes: await decompress(row.zstd),
    clientIp: row.client_ip,
    helo: row.helo,
    mailFrom: row.mail_from,
    tls: row.tls ?? undefined,
    protocol: row.protocol,
    receivedAt: new Date(row.received_at),
  }
}

export async function parsedJsonOf(
  zstd: Uint8Array | null | undefined,
): Promise<Buffer | undefined> {
  return zstd ? await decompress(zstd) : undefined
}

export function checksOf(text: string | null | undefined): SenderChecks | undefined {
  return text ? (JSON.parse(text) as SenderChecks) : undefined
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

export interface PurchaseRow {
  id: string
  provider: Purchase['provider']
  mode: Purchase['mode']
  plan: string
  email: string | null
  claim_hash: string
  link_hash: string | null
  revision: number
  state: OrderState
  created_at: number
  checkout_ref: string | null
  checkout_url: string | null
  subscription_ref: string | null
  key_id: string
  key_prefix: string
  payments: number
  paid_until: number | null
  partly_returned: boolean | number
  claimed_at: number | null
  receipt_at: number | null
}

export function purchaseOf(row: PurchaseRow): Purchase {
  return {
    id: row.id,
    provider: row.provider,
    mode: row.mode,
    plan: planOf(row.plan),
    email: row.email ?? undefined,
    revision: row.revision,
    state: row.state,
    createdAt: new Date(row.created_at),
    checkoutRef: row.checkout_ref ?? undefined,
    checkoutUrl: row.checkout_url ?? undefined,
    subscriptionRef: row.subscription_ref ?? undefined,
    keyId: row.key_id,
    keyPrefix: row.key_prefix,
    payments: row.payments,
    paidUntil: row.paid_until === null ? undefined : new Date(row.paid_until),
    partlyReturned: Boolean(row.partly_returned),
    claimedAt: row.claimed_at === null ? undefined : new Date(row.claimed_at),
  }
}

/** JSON omits undefined fields; restore them. */
function planOf(text: string): Plan {
  const plan = JSON.parse(text) as Plan
  return { ...plan, perDay: plan.perDay, months: plan.months }
}

/** Whether this is the hash of the claim secret or of the mailed link. */
export function matchesClaim(row: PurchaseRow, claimHash: string): boolean {
  return row.claim_hash === claimHash || row.link_hash === claimHash
}

export function claimOutcome(
  row: PurchaseRow | undefined,
  isLive: boolean | undefined,
  { claimHash, now }: KeyClaim,
): ClaimOutcome {
  if (!row || !matchesClaim(row, claimHash)) return 'unknown'
  if (row.payments === 0) return 'unpaid'
  if (row.state !== 'paid' || !isLive) return 'stopped'
  if (row.claimed_at !== null && row.claimed_at + CLAIM_MS <= now.getTime()) return 'over'
  return 'claimed'
}
