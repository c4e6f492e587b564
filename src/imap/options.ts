import type { Address } from '../core/address.ts'
import type { AccountHealth, FolderState } from '../core/gmail.ts'
import type { Log } from '../core/log.ts'
import type { FetchedRecipient, Recipient } from '../core/recipient.ts'
import type { MailboxId } from '../core/session.ts'

/** An account to fetch from, with its secrets: no part of this reaches a log or a reason. */
export interface AccountOptions {
  email: Address
  host: string
  port: number
  /** False only for a server on the same machine: passwords would travel in the clear. */
  tls: boolean
  login: { password: string } | { oauth: OAuthClient }
  /** Moves what was fetched to the trash, and empties that of it. */
  deleteAfterFetch: boolean
  limits?: Partial<AccountLimits>
  tempo?: Partial<AccountTempo>
}

/** The operator's own client at the provider, and the account's consent to it. */
export interface OAuthClient {
  clientId: string
  clientSecret: string
  refreshToken: string
  tokenUrl: string
}

/** What we ask of a server at most, and take from it. */
export interface AccountLimits {
  /** Of one mail; a larger one is left in the account. */
  maxBytes: number
  bytesPerDay: number
  messagesPerMinute: number
}

/** How long things take, in milliseconds. */
export interface AccountTempo {
  /** From one look at UIDNEXT to the next, whatever the server pushed in between. */
  watchdog: number
  /** Between two looks that somebody asked for. */
  asked: number
  /** How long one IDLE lasts; servers end it after 29 minutes, some sooner. */
  idle: number
  /** For the answer to a command; for a whole mail four times that. */
  answer: number
  /** Pauses after failures: the first one of a kind; each further one is twice as long, up to the longest. */
  pause: Record<'lost' | 'throttled' | 'login' | 'longest', number>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const MB = 1_000_000

// Gmail allows 2,500 MB a day over IMAP, and locks an account that takes more.
export const USUAL_LIMITS: AccountLimits = {
  maxBytes: 10 * 1024 * 1024,
  bytesPerDay: 2_000 * MB,
  messagesPerMinute: 300,
}

export const USUAL_TEMPO: AccountTempo = {
  watchdog: 90 * SECOND,
  asked: 3 * SECOND,
  idle: 9 * MINUTE,
  answer: 30 * SECOND,
  pause: {
    lost: SECOND,
    throttled: 15 * MINUTE,
    // Who tries a wrong password too often is locked out.
    login: 5 * MINUTE,
    longest: 240 * MINUTE,
  },
}

/** What this door asks of the house, for one account. */
export interface ImapDeps {
  /** Which of these addresses are live aliases of this account, exactly as written. */
  aliases(addresses: readonly Address[]): Promise<Recipient[]>
  /**
   * Keeps the mail once for those who do not have it yet, defers it for those who have no room, notes where it came from, and
   * moves the folder on, in one commit; then wakes who waits.
   */
  receive(mail: FetchedMail): Promise<ReceiveResult>
  /** Mail of this folder that was deferred and can be delivered now, or given up, by rising UID; some of it at a time. */
  deferred(folder: string, uidValidity: number): Promise<Deferred[]>
  /** Forgets deferred mail by its UIDs, and all of the folder's under another UIDVALIDITY. */
  deleteDeferred(folder: string, uidValidity: number, uids: readonly number[]): Promise<void>
  /** Where fetching stands; undefined before the first look. */
  folder(name: string): Promise<FolderState | undefined>
  /** Moves on past mail that is for nobody here. */
  passed(name: string, state: FolderState): Promise<void>
  /** From when on mail could be for an alias that lives; undefined: there is none. */
  oldestAlias(): Promise<Date | undefined>
  /** Tells how the account is. */
  report(health: AccountHealth, reason: string): Promise<void>
  /** Calls back when somebody asks for a look now, until the returned function is called. */
  onLook(look: () => void): () => void
  now(): Date
  /** From 0 to 1: for pauses that do not all end at once. */
  random(): number
  log: Log
}

/**
 * kept: for all that did not have it; partly: deferred for some, because they have no room; known: all of them had it; full:
 * deferred for all; nobody: none of them lives any more.
 */
export type ReceiveResult = 'kept' | 'partly' | 'known' | 'full' | 'nobody'

export interface Deferred {
  uid: number
  /** One of the aliases that it names. */
  address: Address
  /** The sessions that had no room for it. */
  mailboxes: readonly MailboxId[]
  /** False if all of them have ended. */
  wanted: boolean
}

/** One mail of an account, for at least one alias. */
export interface FetchedMail {
  folder: string
  uid: number
  state: FolderState
  recipients: FetchedRecipient[]
  raw: Uint8Array
  /** INTERNALDATE */
  receivedAt: Date
}
