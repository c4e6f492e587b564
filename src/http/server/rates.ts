import { Problem } from '../../base/problem.ts'
import type { Rate } from '../../limit/limit.ts'
import type { ServerDeps } from './deps.ts'

type RateDeps = Pick<ServerDeps, 'limit' | 'now'>

export interface NamedRate extends Rate {
  /** What is counted, for docs/api.md; undefined: nothing of a client. */
  of?: string
}

const perMinute = (count: number, of: string): NamedRate => ({
  count,
  seconds: 60,
  burst: count,
  of,
})
/** The failed login that uses up the burst is already one too many. */
const failuresPerMinute = (count: number, of: string) => ({
  ...perMinute(count, of),
  burst: count + 1,
})
const perSecond = (count: number, burst: number, of: string) => ({ count, seconds: 1, burst, of })

/** Rate limits per client address, token or key. */
export const RATES = {
  request: perSecond(50, 200, 'requests per client address'),
  createSession: perMinute(60, 'create-session per client address'),
  checkout: perMinute(30, 'checkout per client address'),
  rollKey: perMinute(10, 'roll-key per client address'),
  checkMail: perMinute(600, 'check-mail per token'),
  searchMail: perMinute(60, 'searches (`q`) per token or key'),
  unknownEmail: perMinute(60, 'messages requested per key that it does not see'),
  sendTest: perMinute(1, 'send-test per token'),
  sendTestFromClient: perMinute(10, 'send-test per client address'),
  createWebhook: perMinute(60, 'new webhooks per key'),
  testWebhook: perMinute(10, 'tests of webhooks per key'),
  retryWebhook: perMinute(10, 'changes, replays and enables of webhooks per key, together'),
  verifyDomain: perMinute(10, 'verifications of domains per key'),
  extendSession: perMinute(10, 'extend-session per token'),
  updateSession: perMinute(10, 'update-session per token'),
  wrongKey: failuresPerMinute(20, 'wrong keys per client address; then also right ones'),
  signIn: perMinute(60, 'sign-ins to mail.tm accounts per client address'),
  wrongPassword: failuresPerMinute(
    10,
    'wrong passwords of mail.tm accounts per client address, and per account; then also right ones',
  ),
  wrongAdminToken: failuresPerMinute(
    20,
    'wrong admin tokens per client address; then also right ones',
  ),
  wrongAdminTokenWarning: { count: 1, seconds: 3_600, burst: 1 },
  runChecks: { ...perMinute(1, 'checks that the operator runs, per client address'), burst: 3 },
  // Separate from other requests, so that a busy address does not fail its health checks.
  health: perSecond(50, 200, '`/readyz` and `/metrics` per client address'),
} satisfies Record<string, NamedRate>

type RateName = keyof typeof RATES

/** Takes one from the allowance of `who`; throws `rate_limited` if none is left. */
export async function takeRate({ limit, now }: RateDeps, what: RateName, who: string) {
  throwIfLimited(await limit.take(limitKey(what, who), RATES[what], now()))
}

/** Throws `rate_limited` if nothing is left of the allowance of `who`, without taking any. */
export async function checkRate({ limit, now }: RateDeps, what: RateName, who: string) {
  throwIfLimited(await limit.peek(limitKey(what, who), RATES[what], now()))
}

/** Counts a wrong key, token or password of `who`; throws `rate_limited` if it was one too many. */
export async function recordFailedAuth(
  deps: RateDeps,
  what: 'wrongKey' | 'wrongAdminToken' | 'wrongPassword',
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
