import { hash } from 'node:crypto'
import { isExampleName, type MailDomain, parseDomainName } from '../base/address.ts'
import { backoffDelay } from '../base/time.ts'

interface NamedHosts {
  baseUrl: string
  /** Undefined if its certificate is the operator's. */
  smtpHost: string | undefined
  /** Whether MTA-STS policies are served. */
  mtaSts: boolean
  domains: readonly MailDomain[]
}

/** The host names to obtain certificates for. Never wildcards, addresses, or domains that belong to key holders. */
export function certificateNames({ baseUrl, smtpHost, mtaSts, domains }: NamedHosts): string[] {
  const served = domains.filter(
    ({ active, removed, wildcard, owner }) =>
      active && !removed && !wildcard && owner === undefined,
  )
  const names = [
    URL.parse(baseUrl)?.hostname ?? '',
    smtpHost ?? '',
    ...(mtaSts ? served.map(({ name }) => `mta-sts.${name}`) : []),
  ]
  return [...new Set(names)].filter(isPublicName)
}

/** A name that a public CA can look at. */
export function isPublicName(name: string): boolean {
  const isLocal = /(?:^|\.)(?:localhost|localdomain|local|internal|lan|home\.arpa|invalid)$/
  // An underscore is allowed in DNS, but not in the name of a host.
  const isHost = parseDomainName(name) === name && /^[a-z0-9.-]+$/.test(name)
  return isHost && !isLocal.test(name) && !isExampleName(name)
}

export interface Validity {
  notBefore: Date
  notAfter: Date
  fingerprint: string
}

// The rest is time to notice that renewals fail.
const RENEWED_LIFE = 2 / 3
// So that certificates which were issued together are not renewed together.
const JITTER_LIFE = 1 / 30

/** When to renew a certificate, from when two thirds of its life are over at the latest. */
export function renewalTime(
  { notBefore, notAfter, fingerprint }: Validity,
  { issuedAt = 0 }: Pick<Attempts, 'issuedAt'>,
  now: Date,
): Date {
  const lifeMs = notAfter.getTime() - notBefore.getTime()
  const share = Number.parseInt(hash('sha256', fingerprint).slice(0, 8), 16) / 2 ** 32
  const due = notBefore.getTime() + lifeMs * (RENEWED_LIFE - JITTER_LIFE * share)
  // If our clock is wrong, a new certificate must not be due at once, and again. If it was ahead, issuedAt means nothing.
  const earliest = issuedAt > now.getTime() ? 0 : issuedAt + lifeMs / 3
  return new Date(Math.max(due, earliest))
}

export type ChallengeKind = 'http-01' | 'tls-alpn-01'

/** What is remembered about a name, also across restarts, so that the limits of the CA are kept. Times in Unix milliseconds. */
export interface Attempts {
  /** In a row. */
  failures: number
  /** Not before. */
  nextAt: number
  /** Of the last failure; empty after a success. */
  error: string
  /** URL of the directory of the CA, if nextAt is its rate limit, which is about all names. */
  limitedBy?: string | undefined
  /** By our clock. */
  issuedAt?: number | undefined
  /** How the name was last proven. */
  proven?: ChallengeKind | undefined
}

export const NO_ATTEMPTS: Attempts = { failures: 0, nextAt: 0, error: '' }

// Five attempts in the first hour: Let's Encrypt allows five failed validations of a name per hour.
const BACKOFF = { first: 120_000, max: 86_400_000 }
const RATE_LIMITED_MS = 3_600_000

/** To be saved before the CA is asked: a service that restarts in a loop must not ask each time. */
export function beginAttempt(before: Attempts, now: Date): Attempts {
  const failures = before.failures + 1
  const nextAt = now.getTime() + backoffDelay(failures, BACKOFF)
  return { ...before, failures, nextAt, limitedBy: undefined, error: 'the attempt was interrupted' }
}

interface Failure {
  message: string
  /** As the CA names it (RFC 8555 6.7); empty for a failure of another kind. */
  type: string
  retryAfterMs: number | undefined
  /** URL of the directory of the CA. */
  directory: string
}

// The CA has looked for the proof in vain. Where the other challenge looks, it may find it.
const NOT_PROVEN = ['connection', 'unauthorized', 'incorrectResponse', 'tls']

/** `began` is what beginAttempt returned. */
export function failAttempt(began: Attempts, failure: Failure, now: Date): Attempts {
  const { message: error, type, retryAfterMs = 0, directory } = failure
  const limitedBy = type === 'rateLimited' ? directory : undefined
  const wait = Math.max(retryAfterMs, limitedBy === undefined ? 0 : RATE_LIMITED_MS)
  const isOtherNext = began.failures === 1 && NOT_PROVEN.includes(type)
  const earliest = isOtherNext ? 0 : began.nextAt
  return { ...began, error, limitedBy, nextAt: Math.max(earliest, now.getTime() + wait) }
}

// Longer than any wait that a CA can impose.
const MAX_WAIT_MS = 8 * 86_400_000

/** Whether the next attempt is still to come. One in the far future was recorded by a clock that was wrong. */
export function isWaiting({ nextAt }: Attempts, now: Date): boolean {
  return nextAt > now.getTime() && nextAt <= now.getTime() + MAX_WAIT_MS
}

export function completeAttempt(proven: ChallengeKind, now: Date): Attempts {
  return { ...NO_ATTEMPTS, issuedAt: now.getTime(), proven }
}

/** The other one after each failure: one of the two ports may be closed. */
export function nextChallenge({ failures, proven = 'http-01' }: Attempts): ChallengeKind {
  const other = proven === 'http-01' ? 'tls-alpn-01' : 'http-01'
  return failures % 2 === 0 ? proven : other
}
