import type { Address } from './address.ts'
import { localOf } from './address.ts'
import type { MailDomain } from './mail-domain.ts'
import { isOperator, isReserved } from './prefix.ts'
import { isLive, type MailboxId, type MailboxLimits, OPERATOR, POOL } from './session.ts'

interface Level {
  count: number
  bytes: number
}

/** What the store knows of an address. Asked at RCPT and again inside the commit. */
export interface RecipientFacts {
  domain: MailDomain | undefined
  session: (Level & { id: MailboxId; expiresAt: Date }) | undefined
  /** True when the address ever belonged to a session: it then never falls into the pool. */
  everHeld: boolean
  /** What the pool holds for this address, and in all. */
  poolAddress: Level
  pool: Level
  operator: Level
}

export interface ReceiveLimits {
  /** Of one session, one pool address, and the operator's box. */
  mailbox: MailboxLimits
  poolMaxBytes: number
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

export type Place =
  | { mailbox: MailboxId }
  /** unknown: nobody here has that address; foreign: not our domain; full: would be taken if there were room. */
  | { refused: 'unknown' | 'foreign' | 'full' }

/** Whether mail of this size finds room in a mailbox. */
export function hasRoom(level: Level, limits: MailboxLimits, size: number): boolean {
  return level.count < limits.maxMessages && level.bytes + size <= limits.maxBytes
}

/** Where mail of this size for this address goes. The same rule decides at RCPT and inside the commit. */
export function place(
  address: Address,
  facts: RecipientFacts,
  { limits, now, size }: { limits: ReceiveLimits; now: Date; size: number },
): Place {
  const fits = (level: Level) => hasRoom(level, limits.mailbox, size)
  const { domain, session } = facts
  const local = localOf(address)

  if (!domain) return { refused: 'foreign' }
  if (session && isLive(session, now)) {
    return fits(session) ? { mailbox: session.id } : { refused: 'full' }
  }
  if (domain.removed) return { refused: 'foreign' }
  if (isOperator(local)) return fits(facts.operator) ? { mailbox: OPERATOR } : { refused: 'full' }
  // Same answer for an ended session's address as for one that never was: a stranger must not learn which.
  if (!domain.active || !domain.reader || facts.everHeld || isReserved(local)) {
    return { refused: 'unknown' }
  }
  const room = fits(facts.poolAddress) && facts.pool.bytes + size <= limits.poolMaxBytes
  return room ? { mailbox: POOL } : { refused: 'full' }
}
