import { Problem } from '../../base/problem.ts'
import type { Rate } from '../../limit/limit.ts'
import type { ServerDeps } from './deps.ts'

type RateDeps = Pick<ServerDeps, 'limit' | 'now'>

/** Rate limits per client address or token. The failed login that uses up the burst is already one too many. */
const RATES = {
  request: { count: 50, seconds: 1, burst: 200 },
  createSession: { count: 60, seconds: 60, burst: 60 },
  checkout: { count: 30, seconds: 60, burst: 30 },
  rollKey: { count: 10, seconds: 60, burst: 10 },
  checkMail: { count: 600, seconds: 60, burst: 600 },
  searchMail: { count: 60, seconds: 60, burst: 60 },
  unknownEmail: { count: 60, seconds: 60, burst: 60 },
  sendTest: { count: 1, seconds: 60, burst: 1 },
  sendTestFromClient: { count: 10, seconds: 60, burst: 10 },
  createWebhook: { count: 60, seconds: 60, burst: 60 },
  testWebhook: { count: 10, seconds: 60, burst: 10 },
  retryWebhook: { count: 10, seconds: 60, burst: 10 },
  extendSession: { count: 10, seconds: 60, burst: 10 },
  updateSession: { count: 10, seconds: 60, burst: 10 },
  wrongKey: { count: 20, seconds: 60, burst: 21 },
  wrongAdminToken: { count: 20, seconds: 60, burst: 21 },
  wrongAdminTokenWarning: { count: 1, seconds: 3_600, burst: 1 },
  runChecks: { count: 1, seconds: 60, burst: 3 },
  // Separate from other requests, so that a busy address does not fail its health checks.
  health: { count: 50, seconds: 1, burst: 200 },
} as const satisfies Record<string, Rate>

type RateName = keyof typeof RATES

/** Takes one from the allowance of `who`; throws `rate_limited` if none is left. */
export async function takeRate({ limit, now }: RateDeps, what: RateName, who: string) {
  throwIfLimited(await limit.take(limitKey(what, who), RATES[what], now()))
}

/** Throws `rate_limited` if nothing is left of the allowance of `who`, without taking any. */
export async function checkRate({ limit, now }: RateDeps, what: RateName, who: string) {
  throwIfLimited(await limit.peek(limitKey(what, who), RATES[what], now()))
}

/** Counts a wrong key or token of `who`; throws `rate_limited` if it was one too many. */
export async function recordFailedAuth(
  deps: RateDeps,
  what: 'wrongKey' | 'wrongAdminToken',
  who: string,
): Promise<void> {
  await takeRate(deps, what, who)
  await checkRate(deps, what, who)
}

/**
 * Counts the attempt if it is wrong. Throws `rate_limited` after too many wrong ones, whether it is right or not; then it is not
 * examined.
 */
export async function limitAttempts(
  deps: RateDeps,
  what: 'wrongAdminToken',
  who: string,
  isRight: () => boolean,
): Promise<boolean> {
  await checkRate(deps, what, who)
  if (!isRight()) {
    await recordFailedAuth(deps, what, who)
    return false
  }
  // Again: of many guesses at once, all may have passed the first check.
  await checkRate(deps, what, who)
  return true
}

/** True once per interval of the rate. */
export async function takeTurn(
  { limit, now }: RateDeps,
  what: 'wrongAdminTokenWarning',
  who: string,
): Promise<boolean> {
  return (await limit.take(limitKey(what, who), RATES[what], now())) === 0
}

function limitKey(what: RateName, who: string): string {
  return `http:${what}:${who}`
}

function throwIfLimited(waitMs: number): void {
  if (waitMs === 0) return
  const seconds = Math.ceil(waitMs / 1000)
  throw new Problem('rate_limited', `Too many requests. Try again in ${seconds} s.`, seconds)
}
