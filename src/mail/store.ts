import type { Address, DomainName, Host, MailDomain } from '../base/address.ts'
import type { Awaitable } from '../base/awaitable.ts'
import type { LeaseStore } from '../base/jobs/lease.ts'
import type { AddressRules, FromHeader, RuleRefusal } from '../shared/address-rules.ts'
import type { Envelope, HeaderSummary, Mail, SenderChecks } from '../shared/mail.ts'
import type { LevelStore } from './level-store.ts'
import type { MailLogStore } from './log/store.ts'
import type { OperatorStore, Volume } from './operator-store.ts'
import type { LedgerState } from './rules/ledger.ts'
import type { Message, MessageSummary, RawMail, ScanResult } from './rules/message.ts'
import type { Recipient, RecipientFacts } from './rules/recipient.ts'
import type { MailboxCounters, MailboxId, Session } from './rules/session.ts'

// Two stores, because no operation needs one commit across both: mail lives for hours, orders for years.
// A write is on disk when its promise resolves, and every read that starts afterwards, on any thread or node, sees it.
// A full store throws Problem('overloaded') and stores nothing. An unreachable one throws StoreUnavailable.

/** Mail, sessions and mail domains. */
export interface MailStore extends OperatorStore, LevelStore, MailLogStore, LeaseStore {
  /** All domains of the operator, including removed ones, by id. */
  listDomains(): Promise<MailDomain[]>
  /** By its own name: a host is not looked up among the wildcards, see domainAt. Also one that a key holds. */
  findDomain(name: DomainName): Promise<MailDomain | undefined>
  /** Adds a domain, or restores a removed one under its old id. Undefined if it exists. */
  addDomain(domain: NewDomain): Promise<MailDomain | undefined>
  /** One of the operator's. */
  changeDomain(name: DomainName, change: DomainChange): Promise<MailDomain | undefined>

  /** Undefined if the address belongs to a live session or is in its cool-down, or may be while the ledger is unknown. */
  createSession(session: NewSession): Promise<Session | undefined>
  /** Live and expired sessions; the caller checks the expiry. Never older than the last write. */
  findSession(tokenHash: string): Promise<Session | undefined>
  /** Undefined if the session is no longer live, or no longer has this token. */
  extendSession(
    mailbox: MailboxId,
    expiresAt: Date,
    now: Date,
    tokenHash?: string,
  ): Promise<Session | undefined>
  /** Counts a mail that the rules of the session refused at RCPT; addMail counts those after DATA. */
  countRefused(mailbox: MailboxId): Promise<void>
  /** Counts mails refused at RCPT for a domain that a key holds; addMail counts those taken. */
  countOwnRefused(name: Host, count: number): Promise<void>
  /** Whether mail to this domain of a key is deferred, until a check finds that it is still theirs. */
  isRestoredDomain(name: Host): Promise<boolean>
  /** Changes what its owner may choose. Undefined if no live session has this token. */
  updateSession(change: SessionChange): Promise<Session | undefined>
  /** Revives an expired session with a new, empty mailbox. Undefined after the cool-down. */
  reviveSession(revival: Revival): Promise<Session | undefined>
  /** Ends the session: its token becomes invalid, and the cool-down of its address begins. False as above. */
  endSession(mailbox: MailboxId, now: Date, tokenHash?: string): Promise<boolean>

  /** Live sessions that were created with the key, newest first. */
  listKeySessions(page: KeySessionPage): Promise<Session[]>
  /** Like endSession, by address. Undefined if no live session of the key has it. */
  endKeySession(session: KeySession): Promise<Session | undefined>
  /** Replaces the token; the former one becomes invalid. Undefined as above. */
  rollToken(rolled: RolledToken): Promise<Session | undefined>

  /** What is known about the ledger of addresses; undefined before the first start of the service. */
  readLedger(): Promise<LedgerState | undefined>
  saveLedger(ledger: Omit<LedgerState, 'pruned'>): Promise<void>
  /** After an older state of the store was restored: domains of keys may have changed hands since. Returns how many there are. */
  distrustOwnDomains(now: Date): Promise<number>

  /** What decides about a recipient, with the share of the sender's network in shared mailboxes; without a network, shares do not apply. */
  findRecipient(address: Address, senderNetwork?: string): Awaitable<RecipientFacts>
  /**
   * Resolves the recipients again, each by the mailbox it was accepted for, and stores the mail for those that remain, in one
   * commit. If one mailbox is full nothing is stored and the sender retries, because every recipient was accepted at RCPT.
   */
  addMail(mail: NewMail): Promise<AddMailResult>

  /** The pool or the operator's mailbox. */
  readSharedMailbox(mailbox: MailboxId): Promise<MailboxCounters>
  /** Newest first. */
  listMessages(mailbox: MailboxId, page: MessagePage): Promise<Message[]>
  /** All of a mailbox, newest first: what a live stream compares. */
  listMessageIds(mailbox: MailboxId): Promise<number[]>
  findMessage(mailbox: MailboxId, id: number): Promise<Message | undefined>
  /** Deletes those of the messages that are in this mailbox, if it has this token, in one commit: pass few at a time. */
  deleteMessages(mailbox: MailboxId, ids: readonly number[], tokenHash?: string): Promise<Volume>
  /**
   * Saves what a list shows of the parsed mail, for a message of a session, once: true if this call did. This changes the
   * version of the session, but not that of its key.
   */
  saveScan(scan: MessageScan): Promise<boolean>
  /** The version of all mail that a key may see now: while it is equal, so is the mail. */
  keyMailVersion(scope: KeyScope): Promise<string>
  /** Newest first, unless the page says otherwise. Ids of all mail that a key may see rise in the order of commit, across mailboxes. */
  listKeyMail(scope: KeyScope, page: OrderedKeyMailPage): Promise<Message[]>
  /** What a filter compares of the same messages, which takes less time to read. */
  listKeyMailHeads(scope: KeyScope, page: KeyMailPage): Promise<KeyMailHead[]>
  /** Those of these messages that the key may see, newest first. */
  readKeyMail(scope: KeyScope, ids: readonly number[]): Promise<Message[]>
  /**
   * The last message that the key could see and that has expired, if its id is above this one, else 0. May name a message of the
   * pool to another address, and one that was deleted before.
   */
  lastExpired(scope: KeyScope, sinceId: number): Promise<number>
  readRaw(rawId: number): Promise<RawMail | undefined>
  /** The saved `Mail` as JSON. */
  readParsedJson(rawId: number): Promise<Buffer | undefined>
  /** Does nothing if the mail has been deleted. */
  saveParsed(rawId: number, mail: Mail): Promise<void>
  /** Undefined until the checks have run. */
  readSenderChecks(rawId: number): Promise<SenderChecks | undefined>
  /** Replaces earlier results; does nothing if the mail has been deleted. */
  saveSenderChecks(rawId: number, checks: SenderChecks): Promise<void>

  /** The time for deletions: not ahead of the clock of the store, if it has one. */
  clampTime(now: Date): Awaitable<Date>
  /** One small step of deleting expired data. True if there is more to do. */
  sweep(due: SweepOptions): Promise<boolean>
  /** Why no mail can be stored at the moment; undefined if it can. */
  storageFault(): Awaitable<StoreFault | undefined>
  close(): Promise<void>
}

export interface StoreFault {
  /** full: no space is left; unavailable: the database is unreachable. */
  kind: 'full' | 'unavailable'
  /** For the operator. */
  reason: string
}

export interface NewDomain extends Pick<MailDomain, 'sessions' | 'reader' | 'ttlSeconds'> {
  name: DomainName
}

export type DomainChange = Partial<
  Pick<MailDomain, 'active' | 'removed' | 'sessions' | 'reader'> & {
    /** Null: the default. */
    ttlSeconds: number | null
  }
>

export interface NewSession {
  address: Address
  tokenHash: string
  keyId: string | undefined
  /** The Gmail account that the address is an alias of. */
  accountId?: number | undefined
  createdAt: Date
  expiresAt: Date
  cooldownMs: number
  /** The domain that the address is at, if a key holds it: then only this key gets addresses there. */
  ownDomain?: Host | undefined
  /** The address is not assigned again, whatever becomes of the session. */
  isKept?: boolean
  /** So random that nobody can have had it: available while the ledger is unknown. */
  isRandom?: boolean
  /** Default: none. */
  rules?: AddressRules
  label?: string | undefined
}

export interface SessionChange {
  tokenHash: string
  now: Date
  /** What is not named stays; undefined: removed. */
  set: Partial<{
    onlyFrom: AddressRules['onlyFrom'] | undefined
    maxMessages: number | undefined
    label: string | undefined
  }>
}

export interface KeySessionPage {
  keyId: string
  now: Date
  /** Only sessions with a smaller id; undefined: from the newest. */
  beforeId: number | undefined
  limit: number
  /** Only those without an end. */
  permanent?: boolean
}

/** The live session at an address, if it was created with this key. */
export interface KeySession {
  keyId: string
  address: Address
  now: Date
}

export interface RolledToken extends KeySession {
  /** Of the new token. */
  tokenHash: string
}

export interface Revival extends Pick<NewSession, 'ownDomain'> {
  mailbox: MailboxId
  /** Of the token that revives it: nothing happens if it has been replaced. */
  tokenHash?: string
  /** Of the session, if it is at a domain of that key. */
  keyId?: string | undefined
  now: Date
  expiresAt: Date
  cooldownMs: number
}

export interface NewMail {
  /** Without duplicates. */
  recipients: Recipient[]
  envelope: Envelope
  head: HeaderSummary
  /** Without it, recipients that have a rule about it refuse the mail. */
  from?: FromHeader
  /** Transferred: the caller must not use it afterwards. */
  raw: Uint8Array
  receivedAt: Date
  /** Whose share of a shared mailbox it counts towards; undefined if the sender is exempt. */
  senderNetwork?: string | undefined
}

export type AddMailResult =
  | { outcome: 'stored'; recipients: StoredRecipient[] }
  /**
   * Nothing was stored. no_recipients: all recipients have ended meanwhile; full: at least one mailbox is full; otherwise why
   * the rules of those that remain refuse it.
   */
  | { outcome: 'no_recipients' | 'full' | RuleRefusal }

/** `keyId`: of the key that the session was created with. */
export interface StoredRecipient extends Recipient {
  keyId: string | undefined
}

export interface MessagePage {
  /** Only messages with a larger id. */
  sinceId: number
  /** Only messages with a smaller id; undefined: from the newest. */
  beforeId?: number | undefined
  limit: number
}

export interface MessageScan extends ScanResult {
  mailbox: MailboxId
  /** Id of the message. */
  id: number
}

/** What a key may read: mail of live sessions created with it, and of the pool if its plan includes it. */
export interface KeyScope {
  keyId: string
  pool: boolean
  /** Only mail for this address. */
  to: Address | undefined
  now: Date
}

export type KeyMailHead = Pick<MessageSummary, 'id' | 'senderEmail' | 'subject'>

export interface KeyMailPage extends MessagePage {
  beforeId: number | undefined
}

export interface OrderedKeyMailPage extends KeyMailPage {
  /** Default: newest first. */
  oldestFirst?: boolean
}

export interface SweepOptions {
  now: Date
  cooldownMs: number
  poolMs: number
  operatorMs: number
  /** How long mail of permanent mailboxes is kept. */
  ownMs: number
  mailLogMs: number
  /** How many lines of the mail log are kept; only tests set it. */
  mailLogLines?: number
  /** Whether the pool is off: then the ledger is not needed. */
  poolOff?: boolean
}
