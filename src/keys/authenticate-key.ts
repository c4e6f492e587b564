import { secretHash } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import { checkRate, recordFailedAuth } from '../http/server/rates.ts'
import type { MailDeps } from '../mail/deps.ts'
import {
  type ApiKey,
  isTestKey,
  isWellFormedKey,
  nextUtcDay,
  precheckQuota,
  type QuotaProblemCode,
} from './rules.ts'
import type { KeyStore } from './store.ts'

export interface KeyAuthDeps extends Pick<MailDeps, 'limit' | 'now'> {
  shop: KeyStore
  /** Whether test keys exist: only while payments are a test. */
  testKeys: boolean
}

export interface Caller {
  /** The presented key; undefined if there is none. */
  keyText: string | undefined
  /** Whose failed attempts are counted; undefined if rate limits do not apply. */
  client: string | undefined
  shopUrl: string
  /** Called with every state of the key that is read, even if the request is then refused. */
  seen(key: ApiKey): void
}

/** The key of this request, if its quota allows one more; else 401, 402 or 429, in this order. */
export async function authenticateKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const key = await identifyKey(deps, caller)
  requireQuota(deps, caller, key)
  return key
}

/** The key of this request, whatever is left of its quota. */
export async function identifyKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const { keyText = '', client } = caller
  if (client !== undefined) await checkRate(deps, 'wrongKey', client)
  const key = await findKey(deps, keyText)
  if (key) {
    caller.seen(key)
    return key
  }
  // A missing key is not a guess.
  if (client !== undefined && keyText !== '') await recordFailedAuth(deps, 'wrongKey', client)
  throw invalidKey()
}

/** The key of this request, whatever is left of its quota; 402 if it was stopped. */
export async function authenticateActiveKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const key = await identifyKey(deps, caller)
  if (key.state === 'active') return key
  throw quotaProblem(key, 'plan_expired', { now: deps.now(), shopUrl: caller.shopUrl })
}

/** A key for creating sessions. Nothing is charged, so the daily limit does not matter. */
export async function authenticateSessionKey(
  deps: KeyAuthDeps,
  caller: Omit<Caller, 'seen'>,
): Promise<ApiKey> {
  const key = await identifyKey(deps, { ...caller, seen: () => {} })
  requirePlan(deps, caller, key)
  return key
}

/** A key for listing and ending its sessions, whatever is left of its quota; a stopped one is invalid. */
export async function authenticateSessionHolder(
  deps: KeyAuthDeps,
  caller: Caller,
): Promise<ApiKey> {
  const key = await identifyKey(deps, { ...caller, seen: () => {} })
  if (key.state !== 'active') throw invalidKey()
  caller.seen(key)
  return key
}

/** A key for new tokens of its sessions: 402 as for creating them. */
export async function authenticateRollingKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const key = await authenticateSessionHolder(deps, caller)
  requirePlan(deps, caller, key)
  return key
}

/** Throws if the plan has ended; the daily limit does not matter. */
function requirePlan(
  deps: Pick<KeyAuthDeps, 'now'>,
  { shopUrl }: Pick<Caller, 'shopUrl'>,
  key: ApiKey,
): void {
  const now = deps.now()
  const reason = precheckQuota(key, now)
  if (reason && reason !== 'daily_limit') throw quotaProblem(key, reason, { shopUrl, now })
}

/** The same key later: revocation and usage by others take effect at once. */
export async function reauthenticateKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const key = await rereadKey(deps, caller.keyText)
  requireQuota(deps, caller, key)
  return key
}

/** The first half of reauthenticateKey, which requests with the same key can share. */
export async function rereadKey(deps: KeyAuthDeps, keyText: string | undefined): Promise<ApiKey> {
  const key = await findKey(deps, keyText ?? '')
  if (!key) throw invalidKey()
  return key
}

/** The second half: throws if nothing is left of the key. */
export function requireQuota({ now }: Pick<KeyAuthDeps, 'now'>, caller: Caller, key: ApiKey): void {
  caller.seen(key)
  const time = now()
  const reason = precheckQuota(key, time)
  if (reason) throw quotaProblem(key, reason, { now: time, shopUrl: caller.shopUrl })
}

async function findKey(
  { shop, testKeys, now }: KeyAuthDeps,
  text: string,
): Promise<ApiKey | undefined> {
  if (!isWellFormedKey(text)) return undefined
  // Test keys were not paid for and do not work in live mode.
  if (isTestKey(text) && !testKeys) return undefined
  const key = await shop.findKey(secretHash(text), now())
  return key?.state === 'revoked' ? undefined : key
}

/** The same for a key that is missing, mistyped, unknown or revoked: a stranger must not learn which. */
function invalidKey(): Problem {
  return new Problem('invalid_key', 'The API key is invalid or missing.')
}

function quotaProblem(
  key: ApiKey,
  reason: QuotaProblemCode,
  { now, shopUrl }: { now: Date; shopUrl: string },
): Problem {
  if (reason === 'daily_limit') {
    const seconds = Math.ceil((nextUtcDay(now).getTime() - now.getTime()) / 1000)
    const text = `All ${key.maxPerDay} requests for today have been used. The limit resets at 00:00 UTC.`
    return new Problem(reason, text, seconds)
  }
  if (reason === 'quota_exhausted') {
    const text = `All ${key.maxRequests} requests in this plan have been used. Buy more at ${shopUrl}`
    return new Problem(reason, text)
  }
  const why =
    key.state === 'stopped'
      ? 'The payment for this plan was refunded or is disputed.'
      : 'This plan has expired.'
  return new Problem(reason, `${why} Buy one at ${shopUrl}`)
}
