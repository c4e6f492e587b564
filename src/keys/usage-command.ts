import { printable } from '../base/text.ts'
import { bar, formatCount, formatMinute, formatTime, listTable, table } from '../cli/output.ts'
import { type ApiKey, nextUtcDay, precheckQuota, remainingQuota, utcDayText } from './rules.ts'
import type { UsageDay } from './store.ts'

export function keyTable(keys: readonly ApiKey[], now: Date): string[] {
  const rows = keys.map((key) => [
    key.prefix,
    key.plan,
    stateOf(key, now),
    usedOf(key.used, key.maxRequests),
    key.expiresAt ? formatMinute(key.expiresAt) : 'never',
    printable(key.label),
  ])
  return listTable(['KEY', 'PLAN', 'STATE', 'USED', 'EXPIRES (UTC)', 'LABEL'], rows)
}

export function keyLines(key: ApiKey, now: Date): string[] {
  return table([
    ['Key', key.prefix],
    ['Id', key.id],
    ['Plan', key.plan],
    ...(key.label === '' ? [] : [['Label', printable(key.label)]]),
    ['State', stateOf(key, now)],
    ['Used', `${usedOf(key.used, key.maxRequests)} requests`],
    ['Today', usedOf(key.usedToday, key.maxPerDay)],
    ['Created', formatTime(key.createdAt)],
    ['Expires', formatExpiry(key)],
  ])
}

/** The same with bars, for a terminal. */
export function usageBars(key: ApiKey, now: Date): string[] {
  const { maxRequests, maxPerDay, used, usedToday } = key
  const left = remainingQuota(key)
  return [
    `${key.prefix}  ${key.plan}  ${stateOf(key, now)}`,
    '',
    ...table([
      ['Used', usedOf(used, maxRequests), bar(used, maxRequests), `${formatCount(left.all)} left`],
      maxPerDay === undefined
        ? ['Today', formatCount(usedToday), 'no daily limit']
        : [
            'Today',
            usedOf(usedToday, maxPerDay),
            bar(usedToday, maxPerDay),
            `${formatCount(left.today ?? 0)} left until ${formatMinute(nextUtcDay(now))} UTC`,
          ],
    ]),
    `Expires  ${formatExpiry(key)}`,
  ]
}

function usedOf(used: number, most: number | undefined): string {
  const limit = most === undefined ? ', no daily limit' : ` of ${formatCount(most)}`
  return formatCount(used) + limit
}

export function formatExpiry({ expiresAt }: Pick<ApiKey, 'expiresAt'>): string {
  return expiresAt ? formatTime(expiresAt) : 'never'
}

const REFUSAL_STATES = {
  plan_expired: 'expired',
  quota_exhausted: 'used up',
  daily_limit: 'used up for today',
} as const

function stateOf(key: ApiKey, now: Date): string {
  if (key.state === 'stopped') return 'suspended'
  if (key.state !== 'active') return key.state
  const refused = precheckQuota(key, now)
  return refused ? REFUSAL_STATES[refused] : 'active'
}

const ROWS = 6
const EIGHTHS = ' ▁▂▃▄▅▆▇█'

/** A column of blocks per day, with the largest count at the top and the first and last date below. */
export function plot(days: readonly UsageDay[]): string[] {
  const most = Math.max(...days.map(({ count }) => count))
  if (most <= 0) return [`No requests in the last ${days.length} days.`]
  const top = formatCount(most)
  const margin = ' '.repeat(top.length)
  const heights = days.map(({ count }) => heightOf(count, most))
  const rows = Array.from({ length: ROWS }, (_, row) => {
    const below = (ROWS - 1 - row) * 8
    const blocks = heights.map((height) => EIGHTHS[Math.min(8, Math.max(0, height - below))])
    return `${row === 0 ? `${top} ┤` : `${margin} │`}${blocks.join(' ')}`.trimEnd()
  })
  const width = days.length * 2 - 1
  const [first = '', last = ''] = [days[0], days.at(-1)].map((day) => day && utcDayText(day.day))
  return [
    ...rows,
    `${'0'.padStart(top.length)} ┼${'─'.repeat(width)}`,
    `${margin}  ${first}${last.padStart(width - first.length)}`,
  ]
}

/** In eighths of a row; at least one for a day with any request. */
function heightOf(count: number, most: number): number {
  return count <= 0 ? 0 : Math.max(1, Math.round((count / most) * ROWS * 8))
}
