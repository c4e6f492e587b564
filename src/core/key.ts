import { crc32 } from 'node:zlib'

/** What a key opens: the figures it was sold with and what is used of them. Its secrets are kept apart, as hashes. */
export interface ApiKey {
  /** Random, never used again: sessions are tied to it. */
  id: string
  /** How every secret of it begins: safe to show and to log. */
  prefix: string
  plan: string
  label: string
  /** stopped: the payment was returned or is disputed; it may go on when that is settled. */
  state: 'active' | 'stopped' | 'revoked'
  maxRequests: number
  maxPerDay: number | undefined
  used: number
  /** Requests of the UTC day of the question. */
  usedToday: number
  createdAt: Date
  expiresAt: Date | undefined
}

export type KeyMode = 'live' | 'test'

// 62^27 is more than 2^160. The prefix is told to people and counts for nothing.
const SECRET_BYTES = 20
const SECRET_LENGTH = 27
const NAME_LENGTH = 4
const CHECK_LENGTH = 6
const ID_BYTES = 16
const ID_LENGTH = 22

/** What makeKeyId, makeOrderId, makePrefix and makeSecret each take of chance, at most. */
export const KEY_RANDOM_BYTES = SECRET_BYTES

const KEY_PATTERN = /^mf_(?:live|test)_[A-Za-z0-9]{37}$/

export function makeKeyId(random: Uint8Array): string {
  return `key_${base62(random.subarray(0, ID_BYTES), ID_LENGTH)}`
}

export function makeOrderId(random: Uint8Array): string {
  return `ord_${base62(random.subarray(0, ID_BYTES), ID_LENGTH)}`
}

/** `mf_live_` or `mf_test_` and four characters by which people know the key. */
export function makeKeyPrefix(mode: KeyMode, random: Uint8Array): string {
  return `mf_${mode}_${base62(random.subarray(0, SECRET_BYTES), SECRET_LENGTH).slice(-NAME_LENGTH)}`
}

/** A new secret of this key: 160 random bits behind the prefix, and a checksum over all of it. */
export function makeKeySecret(prefix: string, random: Uint8Array): string {
  const text = prefix + base62(random.subarray(0, SECRET_BYTES), SECRET_LENGTH)
  return text + checksum(text)
}

/** False for what nobody was ever given, such as a key with a typo: nothing needs to be asked then. */
export function isWellFormedKey(text: string): boolean {
  if (!KEY_PATTERN.test(text)) return false
  const end = text.length - CHECK_LENGTH
  return checksum(text.slice(0, end)) === text.slice(end)
}

/** Of a shop in which no money moves. */
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

export type QuotaProblemCode = 'plan_expired' | 'quota_exhausted' | 'daily_limit'

/** Why one more request would be refused, or undefined when it may pass. The store decides the same in one statement. */
export function precheckQuota(key: ApiKey, now: Date): QuotaProblemCode | undefined {
  if (key.state !== 'active') return 'plan_expired'
  if (key.expiresAt && key.expiresAt.getTime() <= now.getTime()) return 'plan_expired'
  if (key.used >= key.maxRequests) return 'quota_exhausted'
  if (key.maxPerDay !== undefined && key.usedToday >= key.maxPerDay) return 'daily_limit'
  return undefined
}

/** What is left in all, and of this UTC day where it has a limit. Never below 0: a plan may have been cut. */
export function remainingQuota(key: ApiKey): { all: number; today: number | undefined } {
  const all = Math.max(0, key.maxRequests - key.used)
  if (key.maxPerDay === undefined) return { all, today: undefined }
  return { all, today: Math.max(0, Math.min(all, key.maxPerDay - key.usedToday)) }
}

/** The UTC day of a moment, in days since 1970: what usage is counted by. */
export function utcDay(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}

/** `YYYY-MM-DD` of such a day. */
export function utcDayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** When the next UTC day begins. */
export function nextUtcDay(now: Date): Date {
  return new Date((utcDay(now) + 1) * DAY_MS)
}
