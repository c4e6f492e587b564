import type { ApiKey } from '../core/key.ts'
import { dayOf } from '../core/quota.ts'
import type { Spent } from './shop-store.ts'

/** A key as each engine keeps it. */
export interface KeyRow {
  id: string
  prefix: string
  plan: string
  label: string
  state: ApiKey['state']
  max_requests: number
  max_per_day: number | null
  used: number
  day: number
  used_today: number
  period: number
  created_at: number
  expires_at: number | null
}

export function keyOf(row: KeyRow, now: Date): ApiKey {
  return {
    id: row.id,
    prefix: row.prefix,
    plan: row.plan,
    label: row.label,
    state: row.state,
    maxRequests: row.max_requests,
    maxPerDay: row.max_per_day ?? undefined,
    used: row.used,
    usedToday: row.day >= dayOf(now) ? row.used_today : 0,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
  }
}

/** What one request heard, of which so many were taken after it by the statement that gave this row. */
export function spentOf(row: KeyRow, now: Date, after: number): Spent {
  const then = { ...row, used: row.used - after, used_today: row.used_today - after }
  return { ...keyOf(then, now), day: row.day, period: row.period }
}
