import { type Address, hostOf, localOf, type MailDomain } from '../../base/address.ts'
import {
  type FromHeader,
  type RuledAddress,
  type RuleRefusal,
  ruleRefusal,
} from '../../shared/address-rules.ts'
import type { LedgerState } from './ledger.ts'
import { isOperatorLocalPart, isReservedLocalPart } from './prefix.ts'
import {
  isLive,
  isPermanent,
  type MailboxId,
  type MailboxLimits,
  OPERATOR,
  POOL,
} from './session.ts'
import { isReservedHost } from './subdomain.ts'

/** What a mailbox holds. */
export interface MailboxUsage {
  count: number
  bytes: number
}

/** What the store knows about an address. Read at RCPT and again inside the commit. */
export interface RecipientFacts {
  domain: MailDomain | undefined
  session: (MailboxUsage & RuledAddress & { id: MailboxId; expiresAt: Date }) | undefined
  /** True if the address ever belonged to a session: its mail then never goes to the pool. */
  inLedger: boolean
  /** While it is unknown, any address may have. */
  ledger: Pick<LedgerState, 'unknownUntil'>
  /** Pool mail for this address, in bytes as received. */
  poolAddress: MailboxUsage
  /** Each shared mailbox in total, in bytes as stored. */
  pool: MailboxUsage
  operator: MailboxUsage
  /** The sender's share of each, in the same way; undefined if the sender is exempt. */
  senderShare: { pool: MailboxUsage; operator: MailboxUsage } | undefined
  /** If a key holds the domain; the session is then one of that key. */
  own?: OwnFacts
}

export interface OwnFacts {
  /** Bytes of all mail at the domains of the key. */
  bytes: number
  /** The mailbox of mail to addresses without a session; undefined if this one has a session, live or in its cool-down. */
  catchAll: MailboxId | undefined
}

export interface ReceiveLimits {
  /** Limits of one session, one pool address, and the operator's mailbox. */
  mailbox: MailboxLimits
  poolMaxBytes: number
  /** Of all mail at the domains of a key. */
  ownMaxBytes: number
  /** Largest mail accepted; a sender's share always fits one. */
  maxMailBytes: number
}

/** Accepted at RCPT. The commit stores mail for this mailbox only, never for a later owner of the address. */
export interface Recipient {
  address: Address
  mailbox: MailboxId
  /** At the domain of a key holder. */
  own?: { owner: string; permanent: boolean }
  /** At the label of a wildcard domain. */
  wildcard?: boolean
}

/** At RCPT. */
export interface RefusedRecipient {
  refused: RecipientRefusal
  /** As above. */
  wildcard?: boolean | undefined
}

/** Found by the exact alias that a fetched mail names. */
export interface FetchedRecipient extends Recipient {
  /** Identifies the mail if its UID has changed. Within one UIDVALIDITY, two UIDs are two mails. */
  identity: string
}

/**
 * unknown: no such mailbox; foreign: not our domain; full: would be accepted if there were room; restored: the domain of a key, which
 * was not found to be still theirs since a restore.
 */
export type RecipientRefusal = 'unknown' | 'foreign' | 'full' | 'restored' | RuleRefusal

export type RecipientDecision = Omit<Recipient, 'address'> | { refused: RecipientRefusal }

export function fitsMailbox(level: MailboxUsage, limits: MailboxLimits, size: number): boolean {
  return level.count < limits.maxMessages && level.bytes + size <= limits.maxBytes
}

/** Largest share of one sender once a shared mailbox is more than half full. */
const SENDER_SHARE = 0.05

/**
 * Whether a shared mailbox has room for one more mail of a sender. Messages and bytes are separate budgets, each with its own
 * share: many tiny mails do not limit bytes. A sender without mail may store one of any size.
 */
export function fitsSharedMailbox(
  level: MailboxUsage,
  held: MailboxUsage | undefined,
  { limits, maxMailBytes, stored }: { limits: MailboxLimits; maxMailBytes: number; stored: number },
): boolean {
  if (!fitsMailbox(level, limits, stored)) return false
  if (held === undefined || held.count === 0) return true
  const { maxMessages, maxBytes } = limits
  return (
    isWithinShare(held.count + 1, { used: level.count, limit: maxMessages, least: 1 }) &&
    isWithinShare(held.bytes + stored, { used: level.bytes, limit: maxBytes, least: maxMailBytes })
  )
}

function isWithinShare(
  wanted: number,
  { used, limit, least }: { used: number; limit: number; least: number },
): boolean {
  return used <= limit / 2 || wanted <= Math.max(limit * SENDER_SHARE, least)
}

interface DecisionContext {
  limits: ReceiveLimits
  now: Date
  size: number
  /** Size as stored, which counts in shared mailboxes. Unknown before the mail arrives; `size` is its upper bound. */
  stored?: number
  /** Unknown before the mail arrives. */
  from?: FromHeader
  /** Other recipients that the same mail is stored for. */
  others?: readonly Recipient[]
  /** The names of this service. Settings: what was accepted at RCPT is not checked again. */
  ownHosts?: readonly string[]
}

/** Where mail of this size for this address goes. The same rule applies at RCPT and inside the commit. */
export function decideRecipient(
  address: Address,
  facts: RecipientFacts,
  context: DecisionContext,
): RecipientDecision {
  const { domain } = facts
  if (!domain) return { refused: 'foreign' }
  const { owner } = domain
  return owner === undefined
    ? decideOperators(address, { ...facts, domain }, context)
    : decideOwn(address, { ...facts, domain, owner }, context)
}

/** At a domain of the operator. */
function decideOperators(
  address: Address,
  facts: RecipientFacts & { domain: MailDomain },
  { limits, now, size, stored = size, from, others = [], ownHosts = [] }: DecisionContext,
): RecipientDecision {
  const fits = (level: MailboxUsage) => fitsMailbox(level, limits.mailbox, size)
  const { domain, session } = facts
  const local = localOf(address)

  if (session && isLive(session, now)) {
    const refused = ruleRefusal(session, from)
    if (refused) return { refused }
    return fits(session) ? { mailbox: session.id } : { refused: 'full' }
  }
  const refused = hostRefusal(address, domain, ownHosts)
  if (refused) return { refused }
  const fitsShared = (mailbox: MailboxId, level: MailboxUsage, held?: MailboxUsage) => {
    const more = others.filter((other) => other.mailbox === mailbox && other.address !== address)
    const raised = (before: MailboxUsage) => addUsage(before, more.length, stored)
    return fitsSharedMailbox(raised(level), held && raised(held), {
      limits: mailbox === POOL ? poolBudget(limits) : limits.mailbox,
      maxMailBytes: limits.maxMailBytes,
      stored,
    })
  }
  if (isOperatorLocalPart(local)) {
    const hasRoom = fitsShared(OPERATOR, facts.operator, facts.senderShare?.operator)
    return hasRoom ? { mailbox: OPERATOR } : { refused: 'full' }
  }
  if (!isPoolAddress(local, domain, facts)) return { refused: 'unknown' }
  const hasRoom = fits(facts.poolAddress) && fitsShared(POOL, facts.pool, facts.senderShare?.pool)
  return hasRoom ? { mailbox: POOL } : { refused: 'full' }
}

/** Why there is no address at this host, except of sessions that are still live. */
function hostRefusal(
  address: Address,
  domain: MailDomain,
  ownHosts: readonly string[],
): RecipientRefusal | undefined {
  if (domain.removed) return 'foreign'
  return isReservedHost(hostOf(address), domain, ownHosts) ? 'unknown' : undefined
}

/**
 * At the domain of a key holder: no address is the operator's, and none gets into the pool, whatever the ledger says. Without a
 * session, mail is refused while the address cools down.
 */
function decideOwn(
  address: Address,
  { session, own, domain, owner }: RecipientFacts & { domain: MailDomain; owner: string },
  { limits, now, size, from, others = [] }: DecisionContext,
): RecipientDecision {
  const live = session && isLive(session, now) ? session : undefined
  const mailbox = live?.id ?? (domain.reader ? own?.catchAll : undefined)
  if (!domain.active || !own || mailbox === undefined) return { refused: 'unknown' }
  const refused = live && ruleRefusal(live, from)
  if (refused) return { refused }
  const more = others.filter((one) => one.own?.owner === owner && one.address !== address)
  const { bytes } = addUsage({ count: 0, bytes: own.bytes }, more.length + 1, size)
  const hasRoom = bytes <= limits.ownMaxBytes && (!live || fitsMailbox(live, limits.mailbox, size))
  const permanent = !live || isPermanent(live)
  return hasRoom ? { mailbox, own: { owner, permanent } } : { refused: 'full' }
}

/** Same reply for an expired address as for an unknown one: a stranger must not learn which. */
function isPoolAddress(
  local: string,
  { active, reader }: MailDomain,
  { inLedger, ledger }: RecipientFacts,
): boolean {
  const mayBeAssigned = inLedger || ledger.unknownUntil !== undefined
  return active && reader && !mayBeAssigned && !isReservedLocalPart(local)
}

// The pool is limited in bytes only.
function poolBudget({ poolMaxBytes }: ReceiveLimits): MailboxLimits {
  return { maxMessages: Number.POSITIVE_INFINITY, maxBytes: poolMaxBytes }
}

export function addUsage({ count, bytes }: MailboxUsage, more: number, size: number): MailboxUsage {
  return { count: count + more, bytes: bytes + more * size }
}
