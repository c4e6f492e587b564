import { secretHash } from '../core/id.ts'
import {
  type ApiKey,
  isKeyText,
  type KeyMode,
  makeKeyId,
  makePrefix,
  makeSecret,
  RANDOM_BYTES,
} from '../core/key.ts'
import { endOf, type Plan } from '../core/plan.ts'
import { Problem } from '../core/problem.ts'
import { dayOf } from '../core/quota.ts'
import type { KeyRoll, ShopStore, UsageDay } from '../store/shop-store.ts'

interface KeyNeeds<Deed extends keyof ShopStore> {
  store: Pick<ShopStore, Deed>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/** What the operator's commands need of the shop. */
export type KeyBook = KeyNeeds<
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
export const USAGE_DAYS = 30

export interface KeyWish {
  plan: Plan
  label: string
  mode: KeyMode
}

/** Makes a key with the figures of the plan. The secret is in the answer and nowhere else: only its hash is kept. */
export async function issueKey(
  { store, now, randomBytes }: KeyNeeds<'addKey'>,
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
  needs: KeyNeeds<'rollKey'>,
  key: Pick<ApiKey, 'id' | 'prefix'>,
): Promise<RolledKey | undefined> {
  return await roll(needs, key, {})
}

export interface RollNeeds {
  shop: Pick<ShopStore, 'rollKey'>
  now(): Date
  randomBytes(count: number): Uint8Array
}

/**
 * The same at the request of whoever holds the key. Only its current secret may: if the former one could, a request sent
 * twice would end the key that is in use, and a key that leaked could still be rolled after it was replaced.
 */
export async function rollPresentedKey(
  { shop, now, randomBytes }: RollNeeds,
  key: Pick<ApiKey, 'id' | 'prefix'>,
  presented: string,
): Promise<RolledKey> {
  const presentedHash = secretHash(presented)
  const rolled = await roll({ store: shop, now, randomBytes }, key, { presentedHash })
  if (rolled) return rolled
  throw new Problem(
    'already_rolled',
    'This key was rolled already. Only the newest key can be rolled.',
  )
}

async function roll(
  { store, now, randomBytes }: KeyNeeds<'rollKey'>,
  { id, prefix }: Pick<ApiKey, 'id' | 'prefix'>,
  asked: Pick<KeyRoll, 'presentedHash'>,
): Promise<RolledKey | undefined> {
  const secret = makeSecret(prefix, randomBytes(RANDOM_BYTES))
  const formerUntil = new Date(now().getTime() + ROLL_MS)
  const change = { keyId: id, secretHash: secretHash(secret), oldUntil: formerUntil, ...asked }
  return (await store.rollKey(change)) ? { secret, formerUntil } : undefined
}

/** The keys that somebody may mean by an id, by what keys begin with, or by a whole key. */
export async function keysNamed(
  { store, now }: Omit<KeyNeeds<'findKey' | 'readKey' | 'listKeys'>, 'randomBytes'>,
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
  { store, now }: Omit<KeyNeeds<'readUsage'>, 'randomBytes'>,
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
