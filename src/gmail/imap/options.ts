import type { Address } from '../../base/address.ts'
import type { Log } from '../../base/log/log.ts'
import type { accountMailDeps } from '../fetch-mail.ts'

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
  /** Largest mail; larger ones stay in the account. */
  maxBytes: number
  bytesPerDay: number
}

export interface AccountTiming {
  /** Between two polls of every folder, whatever the server pushes. */
  pollMs: number
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
export interface ImapDeps extends ReturnType<typeof accountMailDeps> {
  /** From 0 to 1, for jitter. */
  random(): number
  log: Log
}

/**
 * stored: for all recipients that did not have it; partly_stored: deferred for those that are full; known: all had it; full:
 * deferred for all; refused: by the rules of all; blocked: by the block list; no_recipients: no recipient is alive.
 */
export type ReceiveResult = Awaited<ReturnType<ImapDeps['receive']>>
