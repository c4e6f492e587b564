import { type ApiKey, nextUtcDay, precheckQuota, remainingQuota } from '../../core/key.ts'
import type { Caller } from '../../service/keys/authenticate-key.ts'
import { siteUrl } from './client.ts'
import { apiKeyOf } from './credentials.ts'
import type { RouteDeps } from './deps.ts'
import type { HttpRequest } from './route.ts'

/** Who asks, as the services want to know it. What is left of the key goes with every answer from then on. */
export function callerOf(deps: RouteDeps, call: HttpRequest): Caller {
  return {
    keyText: apiKeyOf(call.headers),
    client: call.client,
    shopUrl: pricingUrl(deps, call),
    seen: (key) => call.addHeaders(() => quotaHeaders(key, deps.now())),
  }
}

export function pricingUrl({ baseUrl }: Pick<RouteDeps, 'baseUrl'>, call: HttpRequest): string {
  return `${siteUrl(baseUrl, call)}/pricing`
}

/** The key that `admit` found. */
export function authenticatedKey({ key }: HttpRequest): ApiKey {
  if (!key) throw new Error('this route was answered without admitting anybody')
  return key
}

const DAY_SECONDS = 86_400

/**
 * What is left of a key: in the words of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10) both of its limits,
 * in those of old clients the tighter one.
 */
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
  /** As much as `all` where a day has no limit. */
  today: number
}

/** Of a plan that is over nothing is left, whatever was not used. */
function remainingOf(key: ApiKey, now: Date): Remaining {
  if (precheckQuota(key, now) === 'plan_expired') return { all: 0, today: 0 }
  const { all, today = all } = remainingQuota(key)
  return { all, today }
}

/** Where both are equal it is the plan: that does not grow back tomorrow. */
function legacyHeaders(
  { maxRequests, maxPerDay, expiresAt }: ApiKey,
  left: Remaining,
  resetsAt: Date,
) {
  const byDay = maxPerDay !== undefined && left.today < left.all
  const reset = byDay ? resetsAt : expiresAt
  return {
    'x-ratelimit-limit': String(byDay ? maxPerDay : maxRequests),
    'x-ratelimit-remaining': String(left.today),
    'x-ratelimit-reset': String(reset ? Math.floor(reset.getTime() / 1000) : 0),
  }
}
