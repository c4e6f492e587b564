import type { ApiKey } from './key.ts'

const DAY_MS = 86_400_000

export type Refusal = 'plan_expired' | 'quota_exhausted' | 'daily_limit'

/** Why one more request would be refused, or undefined when it may pass. The store decides the same in one statement. */
export function refusal(key: ApiKey, now: Date): Refusal | undefined {
  if (key.state !== 'active') return 'plan_expired'
  if (key.expiresAt && key.expiresAt.getTime() <= now.getTime()) return 'plan_expired'
  if (key.used >= key.maxRequests) return 'quota_exhausted'
  if (key.maxPerDay !== undefined && key.usedToday >= key.maxPerDay) return 'daily_limit'
  return undefined
}

/** What is left in all, and of this UTC day where it has a limit. Never below 0: a plan may have been cut. */
export function remaining(key: ApiKey): { all: number; today: number | undefined } {
  const all = Math.max(0, key.maxRequests - key.used)
  if (key.maxPerDay === undefined) return { all, today: undefined }
  return { all, today: Math.max(0, Math.min(all, key.maxPerDay - key.usedToday)) }
}

/** The UTC day of a moment, in days since 1970: what usage is counted by. */
export function dayOf(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}

/** `YYYY-MM-DD` of such a day. */
export function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** When the next UTC day begins. */
export function nextDay(now: Date): Date {
  return new Date((dayOf(now) + 1) * DAY_MS)
}
