import { hash } from 'node:crypto'
import type { Address, MailDomain } from './address.ts'
import { Problem } from './problem.ts'

/** Whose mail it is: a session's, or one of the two shared boxes. Never used again once given. */
export type MailboxId = number & { readonly brand: 'MailboxId' }

/** Mail for reader domains that no session ever held. */
export const POOL = 1 as MailboxId
/** Mail for postmaster and abuse. */
export const OPERATOR = 2 as MailboxId

export function isSharedMailbox(mailbox: MailboxId): boolean {
  return mailbox === POOL || mailbox === OPERATOR
}

/**
 * What a reader with a key waits for on the bus, beside the pool as a whole: mail of any session of the key, or of one
 * pool address. A number like a mailbox's; two that meet cost a needless look.
 */
export function keyedTopic(kind: 'key' | 'pool', text: string): MailboxId {
  return topic(`${kind} ${text}`)
}

/** What the fetching of a Gmail account waits for on the bus: somebody asks it to look now. */
export function accountTopic(accountId: number): MailboxId {
  return topic(`account ${accountId}`)
}

function topic(text: string): MailboxId {
  return Number.parseInt(hash('sha256', text).slice(0, 12), 16) as MailboxId
}

/** What every mailbox counts. */
export interface Mailbox {
  id: MailboxId
  /** Rises with every change that a reader could see; ETags are made of it. */
  version: number
  lastId: number
  count: number
  bytes: number
}

export interface Session extends Mailbox {
  address: Address
  /** The key it was created with, if any. */
  keyId: string | undefined
  /** The Gmail account that its address is an alias of, if any. */
  accountId: number | undefined
  createdAt: Date
  expiresAt: Date
}

export interface LifetimeLimits {
  sessionSeconds: number
  /** Longest life of a session that was created without a key. */
  anonymousMaxSeconds: number
  /** Longest life of any session. */
  maxSessionSeconds: number
}

export interface MailboxLimits {
  maxMessages: number
  maxBytes: number
}

export const MIN_LIFETIME_SECONDS = 60
export const MAX_LIFETIME_SECONDS = 315_360_000 // ten years

/** Life of a session where nobody asks for another. */
export function defaultLifetimeSeconds(
  domain: MailDomain | undefined,
  lives: LifetimeLimits,
): number {
  return domain?.ttlSeconds ?? lives.sessionSeconds
}

/** The furthest a session may ever reach from its creation; `keyed`: it was created with a key. */
export function maxLifetimeSeconds(
  domain: MailDomain | undefined,
  lives: LifetimeLimits,
  keyed: boolean,
): number {
  const { anonymousMaxSeconds, maxSessionSeconds } = lives
  const cap = keyed ? maxSessionSeconds : Math.min(anonymousMaxSeconds, maxSessionSeconds)
  return Math.max(cap, defaultLifetimeSeconds(domain, lives))
}

/** The life asked for, or the usual one; out of range is refused, not bent. */
export function requestedLifetimeSeconds(
  ttl: number | undefined,
  {
    domain,
    lives,
    keyed,
  }: { domain: MailDomain | undefined; lives: LifetimeLimits; keyed: boolean },
): number {
  if (ttl === undefined) return defaultLifetimeSeconds(domain, lives)
  const cap = maxLifetimeSeconds(domain, lives, keyed)
  if (ttl >= MIN_LIFETIME_SECONDS && ttl <= cap) return ttl
  const capWithKey = maxLifetimeSeconds(domain, lives, true)
  const withKey = capWithKey > cap ? `; up to ${capWithKey} with an API key` : ''
  throw new Problem(
    'invalid_parameter',
    `ttl: give ${MIN_LIFETIME_SECONDS} to ${cap} seconds${withKey}.`,
  )
}

/** now + the life asked for, never past creation + the cap. */
export function extendedExpiry(
  session: { createdAt: Date; expiresAt: Date },
  now: Date,
  seconds: number,
  cap: number,
): Date {
  return new Date(
    Math.min(
      now.getTime() + seconds * 1000,
      // What was promised is never taken back, also where the operator has lowered the cap since.
      Math.max(session.createdAt.getTime() + cap * 1000, session.expiresAt.getTime()),
    ),
  )
}

export function isLive(session: { expiresAt: Date }, now: Date): boolean {
  // As numbers: comparing two Dates converts both the long way, and each request does it.
  return session.expiresAt.getTime() > now.getTime()
}

/** True while an ended session's address is kept from everybody but its former owner. */
export function isInCooldown(session: { expiresAt: Date }, now: Date, cooldownMs: number): boolean {
  return session.expiresAt.getTime() + cooldownMs > now.getTime()
}

/** True when the mailbox takes no more. */
export function isMailboxFull(
  box: { count: number; bytes: number },
  limits: MailboxLimits,
): boolean {
  return box.count >= limits.maxMessages || box.bytes >= limits.maxBytes
}
