import type { Address, Host, MailDomain } from '../core/address.ts'
import type { AccountHealth, FolderState, GmailAccount } from '../core/gmail.ts'
import type {
  Envelope,
  HeaderSummary,
  Mail,
  Message,
  MessageSummary,
  RawMail,
  SenderChecks,
} from '../core/message.ts'
import type { FetchedRecipient, Recipient, RecipientFacts } from '../core/recipient.ts'
import type { Mailbox, MailboxId, Session } from '../core/session.ts'
import type { OperatorStore, Volume } from './operator-store.ts'

// Two stores, because no deed needs one commit over both: mail lives for hours, what was sold lives for years.
// A write is on disk when its promise resolves, and every read that starts afterwards, anywhere, sees it.
// A store that has no space left throws Problem('overloaded') and has kept nothing. One that is away throws StoreAway.

/** Mail, the sessions it belongs to and the domains it comes to. */
export interface MailStore extends OperatorStore {
  /** Every domain ever known, also removed ones, by id. */
  listDomains(): Promise<MailDomain[]>
  findDomain(name: Host): Promise<MailDomain | undefined>
  /** Makes the domain, or brings a removed one back under its old id. Undefined when it is there already. */
  addDomain(domain: NewDomain): Promise<MailDomain | undefined>
  changeDomain(name: Host, change: DomainChange): Promise<MailDomain | undefined>

  /** Every Gmail account ever known, by id. */
  listAccounts(now: Date): Promise<GmailAccount[]>
  /** Makes an account that is not known yet; one that is stays as it is, with its id. */
  addAccount(email: Address): Promise<void>
  /** False when there is no such account. */
  setAccountActive(accountId: number, active: boolean): Promise<boolean>
  setAccountHealth(accountId: number, health: AccountHealth, reason: string): Promise<void>
  /** Those of the addresses that live sessions hold at this account, exactly as they were issued. */
  findAliases(accountId: number, addresses: readonly Address[], now: Date): Promise<Recipient[]>
  /** When the oldest of the account's live sessions was made. */
  oldestAlias(accountId: number, now: Date): Promise<Date | undefined>
  /** Where fetching from a folder stands; undefined before the first look. */
  readFolder(accountId: number, folder: string): Promise<FolderState | undefined>
  saveFolder(accountId: number, folder: string, state: FolderState): Promise<void>
  /**
   * Keeps fetched mail for those who do not have it yet and have room, defers it for those who are full, and moves the folder on, in one commit. This
   * replaces what was deferred of the same mail before.
   */
  addFetchedMail(mail: FetchedMail): Promise<AddFetchedMailResult>
  /** Deferred mail that can be delivered now, because an alias has room, or be given up, because all of its aliases have ended. By rising UID. */
  listDeferred(query: DeferredQuery): Promise<DeferredMail[]>
  /** Forgets deferred mail by its UIDs, and all of the folder's under another UIDVALIDITY. */
  deleteDeferred(place: DeferredKey): Promise<void>

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

  /** With what the sender's network holds of the shared mailboxes; without one, shares do not apply. */
  findRecipient(address: Address, senderNetwork?: string): Promise<RecipientFacts>
  /**
   * Decides the recipients again, each by the mailbox it was accepted for, and keeps the mail for those still there, all or none. One full mailbox refuses the
   * whole mail, so that the sender tries again: each of its recipients was promised a place.
   */
  addMail(mail: NewMail): Promise<AddMailResult>

  /** One of the two shared boxes. */
  readSharedMailbox(mailbox: MailboxId): Promise<Mailbox>
  /** Newest first. */
  listMessages(mailbox: MailboxId, page: MessagePage): Promise<MessageSummary[]>
  /** All of them, newest first: what a live stream compares. */
  listMessageIds(mailbox: MailboxId): Promise<number[]>
  findMessage(mailbox: MailboxId, id: number): Promise<Message | undefined>
  /** True when a message of this very mailbox was there to delete. */
  deleteMessage(mailbox: MailboxId, id: number): Promise<boolean>
  /** Deletes those of these messages that are in this very mailbox, in one commit: give it few. */
  deleteMessages(mailbox: MailboxId, ids: readonly number[]): Promise<Volume>
  /**
   * Notes the code of a message of a session, once: true when this call did. One that is not empty moves the version of the session, but not what its key
   * sees; an empty one, of a mail that has none, moves nothing.
   */
  saveCode(noted: MessageCode): Promise<boolean>
  /** What a key may see right now, as a mark: as long as it is equal, so is the mail. */
  keyMailVersion(scope: KeyScope): Promise<string>
  /** Newest first. Of all that a key may see the ids rise in the order of commit, over all mailboxes. */
  listKeyMail(scope: KeyScope, page: KeyMailPage): Promise<Message[]>
  readRaw(rawId: number): Promise<RawMail | undefined>
  readParsed(rawId: number): Promise<Mail | undefined>
  /** Keeps the outcome of a parse; does nothing when the mail is gone. */
  saveParsed(rawId: number, mail: Mail): Promise<void>
  /** Undefined until they were made. */
  readSenderChecks(rawId: number): Promise<SenderChecks | undefined>
  /** In the place of former ones; does nothing when the mail is gone. */
  saveSenderChecks(rawId: number, checks: SenderChecks): Promise<void>

  /** True when the lease is his now, for so long by the store's own clock; its holder renews it. False when somebody else has it. */
  acquireLease(lease: Lease): Promise<boolean>
  /** Gives it up, if it is his. */
  releaseLease(name: string, holder: string): Promise<void>

  /** One small step of clearing away what is over. True when there is more to do. */
  sweep(due: SweepOptions): Promise<boolean>
  /** Why no mail can be kept right now, undefined when it can. */
  obstacle(): Promise<StoreFault | undefined>
  close(): Promise<void>
}

export interface StoreFault {
  /** full: there is no room; away: nobody is there who could keep it. */
  kind: 'full' | 'away'
  /** For the operator. */
  reason: string
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
  /** The Gmail account that the address is an alias of. */
  accountId?: number | undefined
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
  head: HeaderSummary
  /** Handed over: the caller has no use of it afterwards. */
  raw: Uint8Array
  receivedAt: Date
  /** Whose share of a shared mailbox it counts towards; undefined: the sender is exempt. */
  senderNetwork?: string | undefined
}

/** Mail that was fetched from an account, for aliases of it. */
export interface FetchedMail extends NewMail {
  recipients: FetchedRecipient[]
  accountId: number
  folder: string
  uid: number
  state: FolderState
  /** The mail itself may be older. */
  now: Date
}

/** known: all of them have it; full: deferred for all of them. */
export type AddFetchedMailResult =
  | { outcome: 'kept'; recipients: StoredRecipient[]; deferred: boolean }
  | { outcome: 'known' | 'nobody' | 'full' }

export interface DeferredKey {
  accountId: number
  folder: string
  uidValidity: number
  uids: readonly number[]
}

export interface DeferredQuery extends Omit<DeferredKey, 'uids'> {
  now: Date
  limit: number
}

export interface DeferredMail {
  uid: number
  /** One of the aliases that it names. */
  address: Address
  /** The sessions that had no room for it. */
  mailboxes: MailboxId[]
  /** False if all of them have ended. */
  wanted: boolean
}

export type AddMailResult =
  | { outcome: 'kept'; recipients: StoredRecipient[] }
  /** nobody: all recipients went away meanwhile; full: at least one has no room. Nothing was kept. */
  | { outcome: 'nobody' | 'full' }

/** `keyId`: of the key that the mailbox's session was made with. */
export interface StoredRecipient extends Recipient {
  keyId: string | undefined
}

export interface MessagePage {
  /** Only messages with a larger id. */
  sinceId: number
  limit: number
}

export interface MessageCode {
  mailbox: MailboxId
  /** Of the message. */
  id: number
  code: string
}

/** What a key may read: mail of live sessions that were made with it, and of the pool where it is open to it. */
export interface KeyScope {
  keyId: string
  pool: boolean
  /** Only mail for this address. */
  to: Address | undefined
  now: Date
}

export interface KeyMailPage extends MessagePage {
  /** Only messages with a smaller id; undefined: from the newest on. */
  beforeId: number | undefined
}

/** The right to do something that one at a time may do, of all threads of all nodes. */
export interface Lease {
  name: string
  holder: string
  ms: number
}

export interface SweepOptions {
  now: Date
  cooldownMs: number
  poolMs: number
  operatorMs: number
}
