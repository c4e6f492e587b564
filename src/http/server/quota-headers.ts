import type { ApiKey } from '../../core/key.ts'
import { nextDay, refusal, remaining } from '../../core/quota.ts'

const DAY_SECONDS = 86_400

/**
 * What is left of a key: in the words of the IETF draft (draft-ietf-httpapi-ratelimit-headers-10) both of its limits,
 * in those of old clients the tighter one.
 */
export function quotaHeaders(key: ApiKey, now: Date): Record<string, string> {
  const left = leftOf(key, now)
  const resetsAt = nextDay(now)
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
    ...tighter(key, left, resetsAt),
  }
}

interface Left {
  all: number
  /** As much as `all` where a day has no limit. */
  today: number
}

/** Of a plan that is over nothing is left, whatever was not used. */
function leftOf(key: ApiKey, now: Date): Left {
  if (refusal(key, now) === 'plan_expired') return { all: 0, today: 0 }
  const { all, today = all } = remaining(key)
  return { all, today }
}

/** Where both are equal it is the plan: that does not grow back tomorrow. */
function tighter({ maxRequests, maxPerDay, expiresAt }: ApiKey, left: Left, resetsAt: Date) {
  const byDay = maxPerDay !== undefined && left.today < left.all
  const reset = byDay ? resetsAt : expiresAt
  return {
    'x-ratelimit-limit': String(byDay ? maxPerDay : maxRequests),
    'x-ratelimit-remaining': String(left.today),
    'x-ratelimit-reset': String(reset ? Math.floor(reset.getTime() / 1000) : 0),
  }
}
