import { crc32 } from 'node:zlib'
import type { ProblemCode } from '../base/problem.ts'

/** An API key: the quota it was sold with and its usage. Its secrets are stored separately, as hashes. */
export interface ApiKey {
  /** Random, never reused: sessions refer to it. */
  id: string
  /** The first characters of every secret of this key: safe to show and to log. */
  prefix: string
  plan: string
  label: string
  /** stopped: the payment was refunded or is disputed; it may become active again. */
  state: 'active' | 'stopped' | 'revoked'
  maxRequests: number
  maxPerDay: number | undefined
  maxDomains: number
  used: number
  /** Requests of the current UTC day. */
  usedToday: number
  createdAt: Date
  expiresAt: Date | undefined
}

/** What the holder of a key should know before mail to its domains is refused. */
export interface DomainWarning {
  /** key_expires: the key itself, before it does. */
  code: 'record_missing' | 'key_stopped' | 'key_expired' | 'key_expires'
  /** Undefined: all of them. */
  domain: string | undefined
  /** When mail will be refused, or the key expires. */
  at: Date
}

/** The domains of a key, for /usage. */
export type DomainUsageOf = (
  key: ApiKey,
) => Promise<{ limit: number; used: number; warnings: readonly DomainWarning[] }>

export type KeyMode = 'live' | 'test'

// 62^27 > 2^160. The prefix is public and adds no entropy.
const SECRET_BYTES = 20
const SECRET_LENGTH = 27
const NAME_LENGTH = 4
const CHECK_LENGTH = 6
const ID_BYTES = 16
const ID_LENGTH = 22

/** Random bytes that makeId, makeKeyPrefix and makeKeySecret each need at most. */
export const KEY_RANDOM_BYTES = SECRET_BYTES

const KEY_PATTERN = /^mf_(?:live|test)_[A-Za-z0-9]{37}$/

/** An id of a key, an order, a webhook or a domain of a key. */
export function makeId(kind: 'key' | 'ord' | 'wh' | 'dom', random: Uint8Array): string {
  return `${kind}_${base62(random.subarray(0, ID_BYTES), ID_LENGTH)}`
}

/** `mf_live_` or `mf_test_` and four characters that identify the key to people. */
export function makeKeyPrefix(mode: KeyMode, random: Uint8Array): string {
  return `mf_${mode}_${base62(random.subarray(0, SECRET_BYTES), SECRET_LENGTH).slice(-NAME_LENGTH)}`
}

/** A new secret: the prefix, 160 random bits, and a checksum of both. */
export function makeKeySecret(prefix: string, random: Uint8Array): string {
  const text = prefix + base62(random.subarray(0, SECRET_BYTES), SECRET_LENGTH)
  return text + checksum(text)
}

/** False for text that was never issued, such as a key with a typo: no lookup is needed. */
export function isWellFormedKey(text: string): boolean {
  if (!KEY_PATTERN.test(text)) return false
  const end = text.length - CHECK_LENGTH
  return checksum(text.slice(0, end)) === text.slice(end)
}

/** Issued by a shop in test mode. */
export function isTestKey(text: string): boolean {
  return text.startsWith('mf_test_')
}

function checksum(text: string): string {
  return toBase62(BigInt(crc32(text)), CHECK_LENGTH)
}

function base62(bytes: Uint8Array, length: number): string {
  return toBase62(BigInt(`0x${Buffer.from(bytes).toString('hex')}`), length)
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = DIGITS[Number(rest % 62n)] + text
  return text
}

const DAY_MS = 86_400_000

export type QuotaProblemCode = Extract<
  ProblemCode,
  'plan_expired' | 'quota_exhausted' | 'daily_limit'
>

/** Why one more request would be refused, or undefined. Only a pre-check: the store enforces the quota in one UPDATE. */
export function precheckQuota(key: ApiKey, now: Date): QuotaProblemCode | undefined {
  if (key.state !== 'active') return 'plan_expired'
  if (key.expiresAt && key.expiresAt.getTime() <= now.getTime()) return 'plan_expired'
  if (key.used >= key.maxRequests) return 'quota_exhausted'
  if (key.maxPerDay !== undefined && key.usedToday >= key.maxPerDay) return 'daily_limit'
  return undefined
}

/** Requests left in total, and today if there is a daily limit. Never below 0: a plan may have been reduced. */
export function remainingQuota(key: ApiKey): { all: number; today: number | undefined } {
  const all = Math.max(0, key.maxRequests - key.used)
  if (key.maxPerDay === undefined) return { all, today: undefined }
  return { all, today: Math.max(0, Math.min(all, key.maxPerDay - key.usedToday)) }
}

/** The UTC day in days since 1970, by which usage is counted. */
export function utcDay(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}

/** `YYYY-MM-DD` */
export function utcDayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

export function nextUtcDay(now: Date): Date {
  return new Date((utcDay(now) + 1) * DAY_MS)
}
