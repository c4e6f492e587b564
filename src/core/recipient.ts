import { type Address, localOf, type MailDomain } from './address.ts'
import { isOperatorLocalPart, isReservedLocalPart } from './prefix.ts'
import { isLive, type MailboxId, type MailboxLimits, OPERATOR, POOL } from './session.ts'

export interface MailboxUsage {
  count: number
  bytes: number
}

/** What the store knows of an address. Asked at RCPT and again inside the commit. */
export interface RecipientFacts {
  domain: MailDomain | undefined
  session: (MailboxUsage & { id: MailboxId; expiresAt: Date }) | undefined
  /** True when the address ever belonged to a session: it then never falls into the pool. */
  everAssigned: boolean
  /** What the pool holds for this address, in bytes as received. */
  poolAddress: MailboxUsage
  /** What each shared mailbox holds in all, in bytes as stored. */
  pool: MailboxUsage
  operator: MailboxUsage
  /** What the sender holds of each, likewise; undefined: the sender is exempt from shares. */
  senderShare: { pool: MailboxUsage; operator: MailboxUsage } | undefined
}

export interface ReceiveLimits {
  /** Of one session, one pool address, and the operator's box. */
  mailbox: MailboxLimits
  poolMaxBytes: number
  /** Of the largest mail accepted: a sender's share has room for one. */
  maxMailBytes: number
}

/** Who was promised a place at RCPT. The commit keeps mail for this mailbox, never for the address's next owner. */
export interface Recipient {
  address: Address
  mailbox: MailboxId
}

/** Who was found by the exact alias that a fetched mail names. */
export interface FetchedRecipient extends Recipient {
  /** By what this mail is known for this alias when its number has changed. Two numbers of one numbering are two mails. */
  identity: string
}

export type RecipientDecision =
  | { mailbox: MailboxId }
  /** unknown: nobody here has that address; foreign: not our domain; full: would be taken if there were room. */
  | { refused: 'unknown' | 'foreign' | 'full' }

/** Whether mail of this size finds room in a mailbox. */
export function fitsMailbox(level: MailboxUsage, limits: MailboxLimits, size: number): boolean {
  return level.count < limits.maxMessages && level.bytes + size <= limits.maxBytes
}

/** Of a shared mailbox that is more than half full, one sender may hold this much. */
const SENDER_SHARE = 0.05

/**
 * Whether a shared mailbox has room for one more mail of a sender. Messages and bytes are two budgets, each with its own
 * share: a mailbox full of tiny mails does not limit bytes. Whoever holds nothing may store one mail of any size.
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
  /** What counts in the shared mailboxes. Before the mail has come nobody knows it, and `size` is its upper bound. */
  stored?: number
  /** Other recipients that the same mail is stored for. */
  others?: readonly Recipient[]
}

/** Where mail of this size for this address goes. The same rule decides at RCPT and inside the commit. */
export function decideRecipient(
  address: Address,
  facts: RecipientFacts,
  { limits, now, size, stored = size, others = [] }: DecisionContext,
): RecipientDecision {
  const fits = (level: MailboxUsage) => fitsMailbox(level, limits.mailbox, size)
  const { domain, session } = facts
  const local = localOf(address)

  if (!domain) return { refused: 'foreign' }
  if (session && isLive(session, now)) {
    return fits(session) ? { mailbox: session.id } : { refused: 'full' }
  }
  if (domain.removed) return { refused: 'foreign' }
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
    const hasPlace = fitsShared(OPERATOR, facts.operator, facts.senderShare?.operator)
    return hasPlace ? { mailbox: OPERATOR } : { refused: 'full' }
  }
  // Same answer for an ended session's address as for one that never was: a stranger must not learn which.
  if (!domain.active || !domain.reader || facts.everAssigned || isReservedLocalPart(local)) {
    return { refused: 'unknown' }
  }
  const hasPlace = fits(facts.poolAddress) && fitsShared(POOL, facts.pool, facts.senderShare?.pool)
  return hasPlace ? { mailbox: POOL } : { refused: 'full' }
}

// The pool has a budget of bytes alone.
function poolBudget({ poolMaxBytes }: ReceiveLimits): MailboxLimits {
  return { maxMessages: Number.POSITIVE_INFINITY, maxBytes: poolMaxBytes }
}

export function addUsage({ count, bytes }: MailboxUsage, more: number, size: number): MailboxUsage {
  return { count: count + more, bytes: bytes + more * size }
}
