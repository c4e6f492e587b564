import type { Address } from '../core/address.ts'

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
