import { siteUrl } from '../../http/server/client-address.ts'
import { apiKeyOf } from '../../http/server/credentials.ts'
import type { ServerDeps } from '../../http/server/deps.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import type { Caller } from '../authenticate-key.ts'
import { type ApiKey, nextUtcDay, precheckQuota, remainingQuota } from '../rules.ts'

/** Every response after a valid key carries its quota headers. */
export function callerOf(deps: Pick<ServerDeps, 'baseUrl' | 'now'>, request: HttpRequest): Caller {
  return {
    keyText: apiKeyOf(request.headers),
    client: request.client,
    shopUrl: pricingUrl(deps, request),
    seen: (key) => request.addHeaders(() => quotaHeaders(key, deps.now())),
  }
}

export function pricingUrl({ baseUrl }: Pick<ServerDeps, 'baseUrl'>, request: HttpRequest): string {
  return `${siteUrl(baseUrl, request)}/pricing`
}

/** The key that `authenticate` returned. */
export function authenticatedKey({ key }: HttpRequest): ApiKey {
  if (!key) throw new Error('route without authenticate')
  return key
}

const DAY_SECONDS = 86_400

/** Both limits as in draft-ietf-httpapi-ratelimit-headers-10; X-RateLimit-* has the tighter one. */
export function quotaHeaders(key: ApiKey, now: Date): Record<string, string> {
  const left = remainingOf(key, now)
  const resetsAt = nextUtcDay(now)
  const untilReset = Math.ceil((resetsAt.getTime() - now.getTime()) / 1000)
  const policy = [`"plan";q=${key.maxRequests}`]
  const state = [`"plan";r=${left.all}`]
  if (key.maxPerDay !== undefined) {
    policy.push(`"day";q=${key.maxPerDay};w=${DAY_SECONDS}`)
    state.push(`"day";r=${left.today};t=${untilReset}`)
  }
  return {
    'ratelimit-policy': policy.join(', '),
    ratelimit: state.join(', '),
    ...legacyHeaders(key, left, resetsAt),
  }
}

interface Remaining {
  all: number
  /** Equals `all` without a daily limit. */
  today: number
}

/** An expired plan has nothing left. */
function remainingOf(key: ApiKey, now: Date): Remaining {
  if (precheckQuota(key, now) === 'plan_expired') return { all: 0, today: 0 }
  const { all, today = all } = remainingQuota(key)
  return { all, today }
}

/** If both are equal, the plan counts: it does not reset tomorrow, and one without expiry never does. */
function legacyHeaders(
  { maxRequests, maxPerDay, expiresAt }: ApiKey,
  left: Remaining,
  resetsAt: Date,
): Record<string, string> {
  const byDay = maxPerDay !== undefined && left.today < left.all
  const reset = byDay ? resetsAt : expiresAt
  return {
    'x-ratelimit-limit': String(byDay ? maxPerDay : maxRequests),
    'x-ratelimit-remaining': String(left.today),
    ...(reset ? { 'x-ratelimit-reset': String(Math.floor(reset.getTime() / 1000)) } : {}),
  }
}
