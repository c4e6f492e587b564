import { secretHash } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import { timestampFields, utcTimestamp } from '../base/time.ts'
import { type Plan, planEnd } from '../shared/plan.ts'
import {
  type ApiKey,
  isWellFormedKey,
  KEY_RANDOM_BYTES,
  type KeyMode,
  makeId,
  makeKeyPrefix,
  makeKeySecret,
  nextUtcDay,
  precheckQuota,
  type QuotaProblemCode,
  remainingQuota,
  utcDay,
} from './rules.ts'
import type { KeyRoll, KeyRollResult, KeyStore, UsageDay } from './store.ts'

export interface KeyDeps {
  shop: KeyStore
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** How long the old secret of a rolled key keeps working. */
export const OLD_SECRET_MS = 24 * 3_600_000

const USAGE_DAYS = 30

export interface KeyRequest {
  plan: Plan
  label: string
  mode: KeyMode
}

/** Creates a key with the quota of the plan. Only the hash of the returned secret is stored. */
export async function issueKey(
  { shop, now, randomBytes }: KeyDeps,
  { plan, label, mode }: KeyRequest,
): Promise<{ key: ApiKey; secret: string }> {
  const createdAt = now()
  const prefix = makeKeyPrefix(mode, randomBytes(KEY_RANDOM_BYTES))
  const secret = makeKeySecret(prefix, randomBytes(KEY_RANDOM_BYTES))
  const key = {
    id: makeId('key', randomBytes(KEY_RANDOM_BYTES)),
    prefix,
    plan: plan.id,
    label,
    maxRequests: plan.requests,
    maxPerDay: plan.perDay,
    maxDomains: plan.domains,
    createdAt,
    expiresAt: planEnd(plan, createdAt),
  }
  await shop.addKey({ ...key, secretHash: secretHash(secret) })
  return { key: { ...key, state: 'active', used: 0, usedToday: 0 }, secret }
}

interface RolledKey {
  secret: string
  oldUntil: Date
}

/** Gives the key a new secret; the old one keeps working for a day. Undefined if the key is revoked or deleted. */
export async function rollKey(
  deps: KeyDeps,
  key: Pick<ApiKey, 'id' | 'prefix'>,
): Promise<RolledKey | undefined> {
  const { secret, oldUntil, result } = await roll(deps, key)
  return result.rolled ? { secret, oldUntil } : undefined
}

/**
 * The same for the holder of the key. The old secret cannot roll the key, and while it works the current one cannot either. So a
 * repeated request is harmless, and a thief cannot roll twice to lock the owner out.
 */
export async function rollPresentedKey(
  deps: KeyDeps,
  key: Pick<ApiKey, 'id' | 'prefix'>,
  presented: string,
): Promise<RolledKey> {
  const asked = { hash: secretHash(presented), now: deps.now() }
  const { secret, oldUntil, result } = await roll(deps, key, asked)
  if (result.rolled) return { secret, oldUntil }
  const until = result.oldSecretUntil
  const text = until
    ? `This key was rolled already. The old key works until ${utcTimestamp(until)} UTC; after that, the newest key can be rolled again.`
    : 'This key was rolled already. Only the newest key can be rolled.'
  throw new Problem('already_rolled', text)
}

async function roll(
  { shop, now, randomBytes }: KeyDeps,
  { id, prefix }: Pick<ApiKey, 'id' | 'prefix'>,
  presented?: KeyRoll['presented'],
): Promise<RolledKey & { result: KeyRollResult }> {
  const secret = makeKeySecret(prefix, randomBytes(KEY_RANDOM_BYTES))
  const oldUntil = new Date(now().getTime() + OLD_SECRET_MS)
  const change = { keyId: id, secretHash: secretHash(secret), oldUntil }
  const result = await shop.rollKey({ ...change, ...(presented && { presented }) })
  return { secret, oldUntil, result }
}

/** Keys by id, by prefix, or by the full key. */
export async function findKeys(
  { shop, now }: Pick<KeyDeps, 'shop' | 'now'>,
  name: string,
): Promise<ApiKey[]> {
  const one = isWellFormedKey(name)
    ? await shop.findKey(secretHash(name), now())
    : await shop.readKey(name, now())
  if (one) return [one]
  const query = { now: now(), text: name, limit: Number.MAX_SAFE_INTEGER }
  return (await shop.listKeys(query)).filter(({ prefix }) => prefix === name)
}

/** Requests of the last 30 UTC days, oldest first, including days without any. */
export async function keyUsage(
  { shop, now }: Pick<KeyDeps, 'shop' | 'now'>,
  keyId: string,
): Promise<UsageDay[]> {
  const first = utcDay(now()) - USAGE_DAYS + 1
  const used = new Map(
    (await shop.readUsage(keyId, first)).map(({ day, count }) => [day, count] as const),
  )
  return Array.from({ length: USAGE_DAYS }, (_, at) => ({
    day: first + at,
    count: used.get(first + at) ?? 0,
  }))
}

interface UsageReport {
  /** Why a request would be refused now, or `active`. */
  state: 'active' | 'stopped' | QuotaProblemCode
  /** When the daily count resets. */
  resetsAt: Date
  /** The last 30 UTC days, today last. */
  days: UsageDay[]
}

/** Usage of a key. Free, and available for keys that are used up or expired. */
export async function keyUsageReport(
  { shop, now }: Pick<KeyDeps, 'shop' | 'now'>,
  key: ApiKey,
): Promise<UsageReport> {
  const time = now()
  return {
    state: key.state === 'stopped' ? 'stopped' : (precheckQuota(key, time) ?? 'active'),
    resetsAt: nextUtcDay(time),
    days: await keyUsage({ shop, now: () => time }, key.id),
  }
}

export function keyJson(key: ApiKey) {
  const left = remainingQuota(key)
  return {
    id: key.id,
    prefix: key.prefix,
    plan: key.plan,
    label: key.label,
    state: key.state,
    requests: key.maxRequests,
    used: key.used,
    remaining: left.all,
    per_day: key.maxPerDay ?? null,
    used_today: key.usedToday,
    remaining_today: left.today ?? null,
    domains: key.maxDomains,
    ...timestampFields('created_at', key.createdAt),
    ...timestampFields('expires_at', key.expiresAt),
  }
}
