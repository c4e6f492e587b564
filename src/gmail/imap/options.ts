import type { Address } from '../../base/address.ts'
import type { Log } from '../../base/log/log.ts'
import type { Recipient } from '../../mail/rules/recipient.ts'
import type { AccountHealth, DeferredMail, FetchedMail, FolderState } from '../rules.ts'

/** An account to fetch from, with its secrets: none of this may reach a log or an error message. */
export interface AccountOptions {
  email: Address
  host: string
  port: number
  /** False only for a server on the same machine: otherwise passwords would be sent in the clear. */
  tls: boolean
  login: { password: string } | { oauth: OAuthClient }
  /** Moves fetched mail to the trash and expunges it there. */
  deleteAfterFetch: boolean
  limits?: Partial<AccountLimits>
  timing?: Partial<AccountTiming>
}

/** The operator's OAuth client and the account's refresh token for it. */
export interface OAuthClient {
  clientId: string
  clientSecret: string
  refreshToken: string
  tokenUrl: string
}

export interface AccountLimits {
  /** Of one mail; larger ones stay in the account. */
  maxBytes: number
  bytesPerDay: number
}

export interface AccountTiming {
  /** Between two polls of every folder, whatever the server pushes. */
  pollMs: number
  /** Minimum between two polls on request. */
  requestedPollMs: number
  /** Duration of one IDLE; servers end it after 29 minutes, some sooner. */
  idleMs: number
  /** For one command; four times that for a whole mail. */
  commandTimeoutMs: number
  /** Delay after the first failure of a kind; doubles with each further one, up to the longest. */
  retryMs: Record<'lost' | 'throttled' | 'login' | 'longest', number>
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const MB = 1_000_000

// Gmail allows 2,500 MB a day over IMAP and locks accounts that exceed it.
export const DEFAULT_LIMITS: AccountLimits = {
  maxBytes: 10 * 1024 * 1024,
  bytesPerDay: 2_000 * MB,
}

export const DEFAULT_TIMING: AccountTiming = {
  pollMs: 90 * SECOND,
  requestedPollMs: 3 * SECOND,
  idleMs: 9 * MINUTE,
  commandTimeoutMs: 30 * SECOND,
  retryMs: {
    lost: SECOND,
    throttled: 15 * MINUTE,
    // Repeated failed logins lock the account.
    login: 5 * MINUTE,
    longest: 240 * MINUTE,
  },
}

/** What fetching needs from the services, for one account. */
export interface ImapDeps {
  /** Which of these addresses are live aliases of this account, matched exactly. */
  findAliases(addresses: readonly Address[]): Promise<Recipient[]>
  /**
   * In one commit: stores the mail for recipients that do not have it yet, defers it for those that are full, and advances the
   * folder state. Then wakes waiting clients.
   */
  receive(mail: FetchedMail): Promise<ReceiveResult>
  /** Deferred mail of this folder that can be delivered or dropped now, by ascending UID; limited in number. */
  listDeferred(folder: string, uidValidity: number): Promise<DeferredMail[]>
  /** Drops deferred mail by UID, and all mail of the folder deferred under another UIDVALIDITY. */
  deleteDeferred(folder: string, uidValidity: number, uids: readonly number[]): Promise<void>
  /** How far the folder was fetched; undefined before the first poll. */
  readFolder(name: string): Promise<FolderState | undefined>
  /** Advances past mail that is for no alias. */
  saveFolder(name: string, state: FolderState): Promise<void>
  /** When the oldest live alias was created; undefined if there is none. */
  oldestAlias(): Promise<Date | undefined>
  reportHealth(health: AccountHealth, reason: string): Promise<void>
  /** Subscribes to requests for an immediate poll; returns the unsubscribe function. */
  onPollRequest(poll: () => void): () => void
  now(): Date
  /** From 0 to 1, for jitter. */
  random(): number
  log: Log
}

/**
 * stored: for all recipients that did not have it; partly_stored: deferred for those that are full; known: all had it; full:
 * deferred for all; refused: by the rules of all; blocked: by the block list; no_recipients: no recipient is alive.
 */
export type ReceiveResult =
  | 'stored'
  | 'partly_stored'
  | 'known'
  | 'full'
  | 'refused'
  | 'blocked'
  | 'no_recipients'
