import { secretHash } from '../../core/id.ts'
import {
  type ApiKey,
  isTestKey,
  isWellFormedKey,
  nextUtcDay,
  precheckQuota,
  type QuotaProblemCode,
} from '../../core/key.ts'
import { Problem } from '../../core/problem.ts'
import type { PaymentProvider } from '../../pay/provider.ts'
import type { ShopStore } from '../../store/shop-store.ts'
import { checkRate, type RateDeps, recordFailedAuth } from '../rates.ts'

export interface KeyAuthDeps extends RateDeps {
  shop: Pick<ShopStore, 'findKey'>
  pay: Pick<PaymentProvider, 'mode'>
}

/** Who asks with a key. */
export interface Caller {
  /** What it gives as its key; undefined: nothing. */
  keyText: string | undefined
  /** Whose wrong keys are counted; undefined: nobody's. */
  client: string | undefined
  /** Where a plan can be bought. */
  shopUrl: string
  /** Hears of each state of the key that is read, also of the one that it is then refused for. */
  seen(key: ApiKey): void
}

/** The key of this request, with something left of it: 401, 402 or 429 else, in this order. */
export async function authenticateKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const key = await identifyKey(deps, caller)
  throwIfSpent(key, deps.now(), caller.shopUrl)
  return key
}

/** The key of this request, whatever is left of it. */
export async function identifyKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const { keyText = '', client } = caller
  if (client !== undefined) await checkRate(deps, 'wrongKey', client)
  const key = await findKey(deps, keyText)
  if (key) {
    caller.seen(key)
    return key
  }
  // Nobody guesses with nothing in hand.
  if (client !== undefined && keyText !== '') await recordFailedAuth(deps, 'wrongKey', client)
  throw invalidKey()
}

/** A key that sessions may be tied to. Nothing is charged, so what resets tomorrow is no reason to refuse it. */
export async function authenticateSessionKey(
  deps: KeyAuthDeps,
  caller: Omit<Caller, 'seen'>,
): Promise<ApiKey> {
  const key = await identifyKey(deps, { ...caller, seen: () => {} })
  const now = deps.now()
  const reason = precheckQuota(key, now)
  if (reason && reason !== 'daily_limit') throw quotaProblem(key, reason, { ...caller, now })
  return key
}

/** The same key a while later: a revoke counts at once, and so does what others used of it. */
export async function reauthenticateKey(deps: KeyAuthDeps, caller: Caller): Promise<ApiKey> {
  const key = await rereadKey(deps, caller.keyText)
  requireQuota(deps, caller, key)
  return key
}

/** The first half of admitAgain, which callers with the same key can share. */
export async function rereadKey(deps: KeyAuthDeps, keyText: string | undefined): Promise<ApiKey> {
  const key = await findKey(deps, keyText ?? '')
  if (!key) throw invalidKey()
  return key
}

/** The second half: refuses this caller when nothing is left of the key. */
export function requireQuota({ now }: Pick<KeyAuthDeps, 'now'>, caller: Caller, key: ApiKey): void {
  caller.seen(key)
  throwIfSpent(key, now(), caller.shopUrl)
}

async function findKey({ shop, pay, now }: KeyAuthDeps, text: string): Promise<ApiKey | undefined> {
  if (!isWellFormedKey(text)) return undefined
  // Nobody paid for them: once money moves here they open nothing.
  if (isTestKey(text) && pay.mode !== 'test') return undefined
  const key = await shop.findKey(secretHash(text), now())
  return key?.state === 'revoked' ? undefined : key
}

/** One text for a key that is missing, mistyped, unknown or revoked: a stranger must not learn which. */
function invalidKey(): Problem {
  return new Problem('invalid_key', 'The API key is invalid or missing.')
}

/** Refuses a key of which nothing may be used at this moment. */
function throwIfSpent(key: ApiKey, now: Date, shopUrl: string): void {
  const reason = precheckQuota(key, now)
  if (reason) throw quotaProblem(key, reason, { now, shopUrl })
}

function quotaProblem(
  key: ApiKey,
  reason: QuotaProblemCode,
  { now, shopUrl }: { now: Date; shopUrl: string },
): Problem {
  if (reason === 'daily_limit') {
    const seconds = Math.ceil((nextUtcDay(now).getTime() - now.getTime()) / 1000)
    const text = `All ${key.maxPerDay} requests of today are used. The next day begins at 00:00 UTC.`
    return new Problem(reason, text, seconds)
  }
  if (reason === 'quota_exhausted') {
    const text = `All ${key.maxRequests} requests of this plan are used. Buy more at ${shopUrl}`
    return new Problem(reason, text)
  }
  const why =
    key.state === 'stopped'
      ? 'The payment of this plan was returned or is disputed.'
      : 'This plan has ended.'
  return new Problem(reason, `${why} Buy one at ${shopUrl}`)
}
