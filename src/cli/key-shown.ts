import type { ApiKey } from '../core/key.ts'
import { printable } from '../core/printable.ts'
import { refusal, remaining } from '../core/quota.ts'
import { stamp, stamps } from '../core/stamp.ts'
import { table } from './table.ts'

/** A key as programs read it: names and times as in the API. */
export function keyJson(key: ApiKey) {
  const left = remaining(key)
  return {
    id: key.id,
    prefix: key.prefix,
    plan: key.plan,
    label: key.label,
    state: key.state,
    requests: key.maxRequests,
    used: key.used,
    remaining: left.all,
    per_day: key.maxPerDay ?? null,
    used_today: key.usedToday,
    remaining_today: left.today ?? null,
    ...stamps('created_at', key.createdAt),
    ...stamps('expires_at', key.expiresAt),
  }
}

export function keyTable(keys: readonly ApiKey[], now: Date): string[] {
  const rows = keys.map((key) => [
    key.prefix,
    key.id,
    key.plan,
    stateOf(key, now),
    `${count(key.used)} of ${count(key.maxRequests)}`,
    endShown(key),
    printable(key.label),
  ])
  return table([['KEY', 'ID', 'PLAN', 'STATE', 'USED', 'ENDS', 'LABEL'], ...rows])
}

/** One fact a line. */
export function keyLines(key: ApiKey, now: Date): string[] {
  return table([
    ['Key', key.prefix],
    ['Id', key.id],
    ['Plan', key.plan],
    ...(key.label === '' ? [] : [['Label', printable(key.label)]]),
    ['State', stateOf(key, now)],
    ['Used', `${count(key.used)} of ${count(key.maxRequests)} requests`],
    ['Today', todayShown(key)],
    ['Made', stamp(key.createdAt)],
    ['Ends', endShown(key)],
  ])
}

function todayShown({ usedToday, maxPerDay }: ApiKey): string {
  return maxPerDay === undefined
    ? `${count(usedToday)}, no daily limit`
    : `${count(usedToday)} of ${count(maxPerDay)}`
}

export function endShown({ expiresAt }: Pick<ApiKey, 'expiresAt'>): string {
  return expiresAt ? stamp(expiresAt) : 'never'
}

/** With thousands apart, so that 100,000 and 1,000,000 are told from each other. */
export function count(number: number): string {
  return number.toLocaleString('en-US')
}

const REFUSED = {
  plan_expired: 'over',
  quota_exhausted: 'used up',
  daily_limit: 'used up for today',
} as const

/** As people ask for it: why it opens nothing, if it does not. */
export function stateOf(key: ApiKey, now: Date): string {
  if (key.state !== 'active') return key.state
  const refused = refusal(key, now)
  return refused ? REFUSED[refused] : 'active'
}
