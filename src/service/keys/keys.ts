import { secretHash } from '../../core/id.ts'
import {
  type ApiKey,
  isWellFormedKey,
  KEY_RANDOM_BYTES,
  type KeyMode,
  makeKeyId,
  makeKeyPrefix,
  makeKeySecret,
  nextUtcDay,
  precheckQuota,
  type QuotaProblemCode,
  utcDay,
} from '../../core/key.ts'
import { type Plan, planEnd } from '../../core/plan.ts'
import { Problem } from '../../core/problem.ts'
import { utcTimestamp } from '../../core/time.ts'
import type { KeyRoll, KeyRollResult, ShopStore, UsageDay } from '../../store/shop-store.ts'

interface KeyDeps<Operation extends keyof ShopStore> {
  store: Pick<ShopStore, Operation>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** What the operator's commands need of the shop. */
export type KeyAdminDeps = KeyDeps<
  | 'addKey'
  | 'findKey'
  | 'readKey'
  | 'listKeys'
  | 'rollKey'
  | 'revokeKey'
  | 'labelKey'
  | 'readUsage'
  | 'readPurchase'
  | 'listPurchases'
>

/** So long the former secret of a rolled key opens it still. */
export const OLD_SECRET_MS = 24 * 3_600_000

/** As many days as usage is told for, today included. */
const USAGE_DAYS = 30

export interface KeyRequest {
  plan: Plan
  label: string
  mode: KeyMode
}

/** Makes a key with the figures of the plan. The secret is in the answer and nowhere else: only its hash is kept. */
export async function issueKey(
  { store, now, randomBytes }: KeyDeps<'addKey'>,
  { plan, label, mode }: KeyRequest,
): Promise<{ key: ApiKey; secret: string }> {
  const createdAt = now()
  const prefix = makeKeyPrefix(mode, randomBytes(KEY_RANDOM_BYTES))
  const secret = makeKeySecret(prefix, randomBytes(KEY_RANDOM_BYTES))
  const key = {
    id: makeKeyId(randomBytes(KEY_RANDOM_BYTES)),
    prefix,
    plan: plan.id,
    label,
    maxRequests: plan.requests,
    maxPerDay: plan.perDay,
    createdAt,
    expiresAt: planEnd(plan, createdAt),
  }
  await store.addKey({ ...key, secretHash: secretHash(secret) })
  return { key: { ...key, state: 'active', used: 0, usedToday: 0 }, secret }
}

interface RolledKey {
  secret: string
  formerUntil: Date
}

/** Gives the key a new secret; the former one lives on for a day. Undefined when the key is revoked or gone. */
export async function rollKey(
  deps: KeyDeps<'rollKey'>,
  key: Pick<ApiKey, 'id' | 'prefix'>,
): Promise<RolledKey | undefined> {
  const { secret, formerUntil, result } = await roll(deps, key)
  return result.rolled ? { secret, formerUntil } : undefined
}

export interface RollKeyDeps {
  shop: Pick<ShopStore, 'rollKey'>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/**
 * The same at the request of whoever holds the key. A secret that is in use is never ended at once this way: the former one
 * cannot roll, and while it lives the current one cannot either. So a request that is sent twice is harmless, and whoever
 * stole the key cannot roll twice to lock its owner out.
 */
export async function rollPresentedKey(
  { shop, now, randomBytes }: RollKeyDeps,
  key: Pick<ApiKey, 'id' | 'prefix'>,
  presented: string,
): Promise<RolledKey> {
  const asked = { hash: secretHash(presented), now: now() }
  const { secret, formerUntil, result } = await roll({ store: shop, now, randomBytes }, key, asked)
  if (result.rolled) return { secret, formerUntil }
  const until = result.oldSecretUntil
  const text = until
    ? `This key was rolled already. The former key works until ${utcTimestamp(until)} UTC; after that, the newest key can be rolled again.`
    : 'This key was rolled already. Only the newest key can be rolled.'
  throw new Problem('already_rolled', text)
}

async function roll(
  { store, now, randomBytes }: KeyDeps<'rollKey'>,
  { id, prefix }: Pick<ApiKey, 'id' | 'prefix'>,
  presented?: KeyRoll['presented'],
): Promise<RolledKey & { result: KeyRollResult }> {
  const secret = makeKeySecret(prefix, randomBytes(KEY_RANDOM_BYTES))
  const formerUntil = new Date(now().getTime() + OLD_SECRET_MS)
  const change = { keyId: id, secretHash: secretHash(secret), oldUntil: formerUntil }
  const result = await store.rollKey({ ...change, ...(presented && { presented }) })
  return { secret, formerUntil, result }
}

/** The keys that somebody may mean by an id, by what keys begin with, or by a whole key. */
export async function findKeys(
  { store, now }: Omit<KeyDeps<'findKey' | 'readKey' | 'listKeys'>, 'randomBytes'>,
  name: string,
): Promise<ApiKey[]> {
  const one = isWellFormedKey(name)
    ? await store.findKey(secretHash(name), now())
    : await store.readKey(name, now())
  if (one) return [one]
  return (await store.listKeys(now())).filter(({ prefix }) => prefix === name)
}

/** The requests of the last 30 UTC days, oldest first, with a 0 for each day without any. */
export async function keyUsage(
  { store, now }: Omit<KeyDeps<'readUsage'>, 'randomBytes'>,
  keyId: string,
): Promise<UsageDay[]> {
  const first = utcDay(now()) - USAGE_DAYS + 1
  const used = new Map(
    (await store.readUsage(keyId, first)).map(({ day, count }) => [day, count] as const),
  )
  return Array.from({ length: USAGE_DAYS }, (_, at) => ({
    day: first + at,
    count: used.get(first + at) ?? 0,
  }))
}

export interface UsageDeps {
  shop: Pick<ShopStore, 'readUsage'>
  now(): Date
}

interface UsageReport {
  /** Why a request would be refused at this moment, or that it would not be. */
  state: 'active' | 'stopped' | QuotaProblemCode
  /** When the count of the day begins anew. */
  resetsAt: Date
  /** The last 30 UTC days, today being the last. */
  days: UsageDay[]
}

/** What became of a key so far. Free, and open to keys that are used up or over. */
export async function keyUsageReport({ shop, now }: UsageDeps, key: ApiKey): Promise<UsageReport> {
  const time = now()
  return {
    state: key.state === 'stopped' ? 'stopped' : (precheckQuota(key, time) ?? 'active'),
    resetsAt: nextUtcDay(time),
    days: await keyUsage({ store: shop, now: () => time }, key.id),
  }
}
