import { Problem } from '../core/problem.ts'
import type { Limit, Rate } from '../limit/limit.ts'

export interface RateNeeds {
  limit: Pick<Limit, 'take'>
  now(): Date
}

/** How often one address or one token may ask. */
const rates = {
  request: { count: 50, seconds: 1, burst: 200 },
  createSession: { count: 60, seconds: 60, burst: 60 },
  checkMail: { count: 600, seconds: 60, burst: 600 },
} as const satisfies Record<string, Rate>

/** Takes one of `who`'s allowance, or refuses with the time to wait. */
export async function takeRate(
  { limit, now }: RateNeeds,
  what: keyof typeof rates,
  who: string,
): Promise<void> {
  const waitMs = await limit.take(`http:${what}:${who}`, rates[what], now())
  if (waitMs === 0) return
  const seconds = Math.ceil(waitMs / 1000)
  throw new Problem('rate_limited', `Too many requests. Try again in ${seconds} s.`, seconds)
}
