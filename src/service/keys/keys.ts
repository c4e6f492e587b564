import { secretHash } from '../../core/id.ts'
import {
  type ApiKey,
  isKeyText,
  type KeyMode,
  makeKeyId,
  makePrefix,
  makeSecret,
  RANDOM_BYTES,
} from '../../core/key.ts'
import { endOf, type Plan } from '../../core/plan.ts'
import { Problem } from '../../core/problem.ts'
import { dayOf } from '../../core/quota.ts'
import { stamp } from '../../core/time.ts'
import type { KeyRoll, KeyRollResult, ShopStore, UsageDay } from '../../store/shop-store.ts'

interface KeyDeps<Operation extends keyof ShopStore> {
  store: Pick<ShopStore, Operation>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** What the operator's commands need of the shop. */
export type KeyBook = KeyDeps<
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
export const ROLL_MS = 24 * 3_600_000

/** As many days as usage is told for, today included. */
const USAGE_DAYS = 30

export interface KeyWish {
  plan: Plan
  label: string
  mode: KeyMode
}

/** Makes a key with the figures of the plan. The secret is in the answer and nowhere else: only its hash is kept. */
export async function issueKey(
  { store, now, randomBytes }: KeyDeps<'addKey'>,
  { plan, label, mode }: KeyWish,
): Promise<{ key: ApiKey; secret: string }> {
  const createdAt = now()
  const prefix = makePrefix(mode, randomBytes(RANDOM_BYTES))
  const secret = makeSecret(prefix, randomBytes(RANDOM_BYTES))
  const key = {
    id: makeKeyId(randomBytes(RANDOM_BYTES)),
    prefix,
    plan: plan.id,
    label,
    maxRequests: plan.requests,
    maxPerDay: plan.perDay,
    createdAt,
    expiresAt: endOf(plan, createdAt),
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

export interface RollDeps {
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
  { shop, now, randomBytes }: RollDeps,
  key: Pick<ApiKey, 'id' | 'prefix'>,
  presented: string,
): Promise<RolledKey> {
  const asked = { hash: secretHash(presented), now: now() }
  const { secret, formerUntil, result } = await roll({ store: shop, now, randomBytes }, key, asked)
  if (result.rolled) return { secret, formerUntil }
  const until = result.formerUntil
  const text = until
    ? `This key was rolled already. The former key works until ${stamp(until)} UTC; after that, the newest key can be rolled again.`
    : 'This key was rolled already. Only the newest key can be rolled.'
  throw new Problem('already_rolled', text)
}

async function roll(
  { store, now, randomBytes }: KeyDeps<'rollKey'>,
  { id, prefix }: Pick<ApiKey, 'id' | 'prefix'>,
  presented?: KeyRoll['presented'],
): Promise<RolledKey & { result: KeyRollResult }> {
  const secret = makeSecret(prefix, randomBytes(RANDOM_BYTES))
  const formerUntil = new Date(now().getTime() + ROLL_MS)
  const change = { keyId: id, secretHash: secretHash(secret), oldUntil: formerUntil }
  const result = await store.rollKey({ ...change, ...(presented && { presented }) })
  return { secret, formerUntil, result }
}

/** The keys that somebody may mean by an id, by what keys begin with, or by a whole key. */
export async function keysNamed(
  { store, now }: Omit<KeyDeps<'findKey' | 'readKey' | 'listKeys'>, 'randomBytes'>,
  name: string,
): Promise<ApiKey[]> {
  const one = isKeyText(name)
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
  const first = dayOf(now()) - USAGE_DAYS + 1
  const used = new Map(
    (await store.readUsage(keyId, first)).map(({ day, count }) => [day, count] as const),
  )
  return Array.from({ length: USAGE_DAYS }, (_, at) => ({
    day: first + at,
    count: used.get(first + at) ?? 0,
  }))
}
