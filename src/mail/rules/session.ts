import { hash } from 'node:crypto'
import { type Address, type Host, joinAddress, type MailDomain } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { parseDuration } from '../../base/time.ts'
import { type RuledAddress, ruleRefusal } from '../../shared/address-rules.ts'

/** A session's mailbox, or one of the two shared ones. Never reused. */
export type MailboxId = number & { readonly brand: 'MailboxId' }

/** Mail for addresses of pool domains that were never assigned to a session. */
export const POOL = 1 as MailboxId
/** Mail for postmaster and abuse. */
export const OPERATOR = 2 as MailboxId

/** What a client subscribes to on the bus: a mailbox, or one of the topics below. */
export type Topic = MailboxId | (number & { readonly brand: 'Topic' })

export function isSharedMailbox(mailbox: MailboxId): boolean {
  return mailbox === POOL || mailbox === OPERATOR
}

/**
 * What clients with a key subscribe to, besides the pool as a whole: mail of any session of the key, or of one pool address.
 * Numbers like mailbox ids; a collision only costs a needless poll.
 */
export function keyedTopic(kind: 'key' | 'pool', text: string): Topic {
  return topic(`${kind} ${text}`)
}

/** Requests to poll a Gmail account now. */
export function accountTopic(accountId: number): Topic {
  return topic(`account ${accountId}`)
}

/** Changes of a webhook by its owner. */
export function webhookTopic(webhookId: string): Topic {
  return topic(`webhook ${webhookId}`)
}

function topic(text: string): Topic {
  return Number.parseInt(hash('sha256', text).slice(0, 12), 16) as Topic
}

/** Counters of a mailbox. */
export interface MailboxCounters {
  id: MailboxId
  /** Incremented by every visible change; ETags are derived from it. */
  version: number
  lastId: number
  count: number
  bytes: number
}

export interface Session extends MailboxCounters, RuledAddress {
  address: Address
  /** The key it was created with, if any. */
  keyId: string | undefined
  /** The Gmail account that its address is an alias of, if any. */
  accountId: number | undefined
  createdAt: Date
  expiresAt: Date
  /** The domain of its key that the address is at, if any. */
  ownDomain: Host | undefined
  /** Chosen by its owner. */
  label: string | undefined
  /** Mails that its rules refused. */
  refused: number
}

/** When a session expires that has no end: 9999-12-31 23:59:59. */
export const PERMANENT = new Date(253_402_300_799_000)

export function isPermanent({ expiresAt }: { expiresAt: Date }): boolean {
  return expiresAt.getTime() === PERMANENT.getTime()
}

/** The address of the session for mail to a key holder's domain that no other session is for. No mailbox can be created with it. */
export function catchAllAddress(domain: Host): Address {
  return joinAddress('', domain)
}

export const MAX_LABEL_CHARACTERS = 60
/** Without control characters. */
export const LABEL = new RegExp(`^[^\\x00-\\x1f\\x7f-\\x9f]{1,${MAX_LABEL_CHARACTERS}}$`, 'u')

/** Throws `invalid_parameter`. */
export function parseLabel(text: string): string {
  if (LABEL.test(text) && text.isWellFormed()) return text
  throw new Problem(
    'invalid_parameter',
    `label: must be at most ${MAX_LABEL_CHARACTERS} characters, without control characters.`,
  )
}

export interface LifetimeLimits {
  sessionSeconds: number
  /** Maximum for sessions created without a key. */
  anonymousMaxSeconds: number
  maxSessionSeconds: number
}

export interface MailboxLimits {
  maxMessages: number
  maxBytes: number
}

export const MIN_LIFETIME_SECONDS = 60
export const MAX_LIFETIME_SECONDS = 315_360_000 // ten years

/** Seconds of a lifetime like `90s`, `15m`, `24h` or `30d`; undefined if it is none, or out of range. */
export function parseLifetime(text: string): number | undefined {
  const seconds = parseDuration(text) ?? 0
  return seconds >= MIN_LIFETIME_SECONDS && seconds <= MAX_LIFETIME_SECONDS ? seconds : undefined
}

export const LIFETIME_HINT = 'must be from 1m to 3650d, such as 90s, 15m, 24h or 30d.'

export function defaultLifetimeSeconds(
  domain: MailDomain | undefined,
  lifetimes: LifetimeLimits,
): number {
  return domain?.ttlSeconds ?? lifetimes.sessionSeconds
}

/** Maximum lifetime of a session from its creation; `keyed`: it was created with a key. */
export function maxLifetimeSeconds(
  domain: MailDomain | undefined,
  lifetimes: LifetimeLimits,
  keyed: boolean,
): number {
  const { anonymousMaxSeconds, maxSessionSeconds } = lifetimes
  const cap = keyed ? maxSessionSeconds : Math.min(anonymousMaxSeconds, maxSessionSeconds)
  return Math.max(cap, defaultLifetimeSeconds(domain, lifetimes))
}

/** The requested lifetime, or the default. Out of range is refused, not clamped. */
export function requestedLifetimeSeconds(
  ttl: number | undefined,
  {
    domain,
    lifetimes,
    keyed,
  }: { domain: MailDomain | undefined; lifetimes: LifetimeLimits; keyed: boolean },
): number {
  if (ttl === undefined) return defaultLifetimeSeconds(domain, lifetimes)
  const cap = maxLifetimeSeconds(domain, lifetimes, keyed)
  if (ttl >= MIN_LIFETIME_SECONDS && ttl <= cap) return ttl
  const capWithKey = maxLifetimeSeconds(domain, lifetimes, true)
  const withKey = capWithKey > cap ? `; up to ${capWithKey} with an API key` : ''
  throw new Problem(
    'invalid_parameter',
    `ttl: must be ${MIN_LIFETIME_SECONDS} to ${cap} seconds${withKey}.`,
  )
}

/** Now plus the requested lifetime, at most creation plus the cap. */
export function extendedExpiry(
  session: { createdAt: Date; expiresAt: Date },
  now: Date,
  seconds: number,
  cap: number,
): Date {
  return new Date(
    Math.min(
      now.getTime() + seconds * 1000,
      // Never earlier than before, even if the operator has lowered the cap since.
      Math.max(session.createdAt.getTime() + cap * 1000, session.expiresAt.getTime()),
    ),
  )
}

export function isLive(session: { expiresAt: Date }, now: Date): boolean {
  // Compared as numbers, because this runs on every request and comparing Dates is slow.
  return session.expiresAt.getTime() > now.getTime()
}

/** True while the session is live, and until the end of its cool-down: its address is not assigned to anyone else. */
export function isWithinCooldown(
  session: { expiresAt: Date },
  now: Date,
  cooldownMs: number,
): boolean {
  return session.expiresAt.getTime() + cooldownMs > now.getTime()
}

/** True if it takes no more mail, whoever sends it. */
export function isMailboxFull(
  box: RuledAddress & { count: number; bytes: number },
  limits: MailboxLimits,
): boolean {
  const hasRoom = box.count < limits.maxMessages && box.bytes < limits.maxBytes
  return !hasRoom || ruleRefusal(box) !== undefined
}
