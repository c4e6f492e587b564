import type { Address, Host } from '../core/address.ts'
import type { MailDomain } from '../core/mail-domain.ts'
import type { Envelope, Mail, MailHead, Message, MessageSummary, RawMail } from '../core/message.ts'
import type { Recipient, RecipientFacts } from '../core/recipient.ts'
import type { Mailbox, MailboxId, Session } from '../core/session.ts'

// Two stores, because no deed needs one commit over both: mail lives for hours, what was sold lives for years.
// A write is on disk when its promise resolves, and every read that starts afterwards, anywhere, sees it.
// A store that has no space left throws Problem('overloaded') and has kept nothing.

/** Mail, the sessions it belongs to and the domains it comes to. */
export interface MailStore {
  /** Every domain ever known, also removed ones, by id. */
  listDomains(): Promise<MailDomain[]>
  findDomain(name: Host): Promise<MailDomain | undefined>
  /** Makes the domain, or brings a removed one back under its old id. Undefined when it is there already. */
  addDomain(domain: NewDomain): Promise<MailDomain | undefined>
  changeDomain(name: Host, change: DomainChange): Promise<MailDomain | undefined>

  /** Undefined when the address is held by a live session or still cooling down. */
  createSession(session: NewSession): Promise<Session | undefined>
  /** Live and cooling ones; the caller looks at the expiry. Never answers older than the last write. */
  findSession(tokenHash: string): Promise<Session | undefined>
  /** Undefined when the session is not live any more. */
  extendSession(mailbox: MailboxId, expiresAt: Date, now: Date): Promise<Session | undefined>
  /** Brings a cooling session back, empty, in a mailbox of its own. Undefined when somebody was quicker or it is over. */
  reviveSession(revival: Revival): Promise<Session | undefined>
  /** Ends it now: the token is forgotten, the address cools down. False when it was not live. */
  endSession(mailbox: MailboxId, now: Date): Promise<boolean>

  findRecipient(address: Address): Promise<RecipientFacts>
  /**
   * Decides the recipients again, each by the mailbox it was accepted for, and keeps the mail for those still there, all or none. One full mailbox refuses the
   * whole mail, so that the sender tries again: each of its recipients was promised a place.
   */
  addMail(mail: NewMail): Promise<Kept>

  /** One of the two shared boxes. */
  readShared(mailbox: MailboxId): Promise<Mailbox>
  /** Newest first. */
  listMessages(mailbox: MailboxId, page: Page): Promise<MessageSummary[]>
  /** All of them, newest first: what a live stream compares. */
  listMessageIds(mailbox: MailboxId): Promise<number[]>
  findMessage(mailbox: MailboxId, id: number): Promise<Message | undefined>
  /** True when a message of this very mailbox was there to delete. */
  deleteMessage(mailbox: MailboxId, id: number): Promise<boolean>
  readRaw(rawId: number): Promise<RawMail | undefined>
  readParsed(rawId: number): Promise<Mail | undefined>
  /** Keeps the outcome of a parse; does nothing when the mail is gone. */
  keepParsed(rawId: number, mail: Mail): Promise<void>

  /** One small step of clearing away what is over. True when there is more to do. */
  sweep(due: SweepDue): Promise<boolean>
  /** Why no mail can be kept right now, undefined when it can. */
  obstacle(): Promise<string | undefined>
  close(): Promise<void>
}

export interface NewDomain {
  name: Host
  sessions: boolean
  reader: boolean
  ttlSeconds: number | undefined
}

export type DomainChange = Partial<Pick<MailDomain, 'active' | 'removed' | 'sessions' | 'reader'>>

export interface NewSession {
  address: Address
  tokenHash: string
  keyId: string | undefined
  createdAt: Date
  expiresAt: Date
  cooldownMs: number
}

export interface Revival {
  mailbox: MailboxId
  now: Date
  expiresAt: Date
  cooldownMs: number
}

export interface NewMail {
  /** Without repeats. */
  recipients: Recipient[]
  envelope: Envelope
  head: MailHead
  /** Handed over: the caller has no use of it afterwards. */
  raw: Uint8Array
  receivedAt: Date
}

export type Kept =
  | { outcome: 'kept'; mailboxes: MailboxId[] }
  /** nobody: all recipients went away meanwhile; full: at least one has no room. Nothing was kept. */
  | { outcome: 'nobody' | 'full' }

export interface Page {
  /** Only messages with a larger id. */
  sinceId: number
  limit: number
}

export interface SweepDue {
  now: Date
  cooldownMs: number
  poolMs: number
  operatorMs: number
}

/** Keys, what was bought and what was used. */
export interface ShopStore {
  addKey(key: NewKey): Promise<void>
  /** By the hash of a secret that has not ended. */
  findKey(secretHash: string, now: Date): Promise<ApiKey | undefined>
  /** At once: no request that starts afterwards passes. False when there is no such key. */
  revokeKey(keyId: string): Promise<boolean>
  /** Takes one request in a single statement; undefined when none is left. */
  spendRequest(keyId: string, now: Date): Promise<ApiKey | undefined>
  /** Gives back one request of that day, after a fault of ours. */
  returnRequest(keyId: string, spentAt: Date): Promise<void>
  close(): Promise<void>
}

export interface NewKey {
  /** Random, never used again. */
  id: string
  secretHash: string
  plan: string
  label: string
  maxRequests: number
  maxPerDay: number | undefined
  createdAt: Date
  expiresAt: Date | undefined
}

export interface ApiKey {
  id: string
  plan: string
  label: string
  state: 'active' | 'revoked'
  maxRequests: number
  maxPerDay: number | undefined
  used: number
  /** Requests of the UTC day of the question. */
  usedToday: number
  createdAt: Date
  expiresAt: Date | undefined
}
