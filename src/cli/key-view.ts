import { type ApiKey, precheckQuota, remainingQuota, utcDayText } from '../core/key.ts'
import { printable } from '../core/text.ts'
import { timestampFields, utcTimestamp } from '../core/time.ts'
import { table } from './output.ts'

/** A key as programs read it: names and times as in the API. */
export function keyJson(key: ApiKey) {
  const left = remainingQuota(key)
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
    ...timestampFields('created_at', key.createdAt),
    ...timestampFields('expires_at', key.expiresAt),
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
    ['Made', utcTimestamp(key.createdAt)],
    ['Ends', endShown(key)],
  ])
}

function todayShown({ usedToday, maxPerDay }: ApiKey): string {
  return maxPerDay === undefined
    ? `${count(usedToday)}, no daily limit`
    : `${count(usedToday)} of ${count(maxPerDay)}`
}

export function endShown({ expiresAt }: Pick<ApiKey, 'expiresAt'>): string {
  return expiresAt ? utcTimestamp(expiresAt) : 'never'
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
  const refused = precheckQuota(key, now)
  return refused ? REFUSED[refused] : 'active'
}

interface Day {
  /** In days since 1970. */
  day: number
  count: number
}

const ROWS = 6
const EIGHTHS = ' ▁▂▃▄▅▆▇█'

/** Days as columns of blocks, with the largest count at the top and the first and last date below. */
export function plot(days: readonly Day[]): string[] {
  const most = Math.max(...days.map(({ count }) => count))
  if (most <= 0) return [`No requests in the last ${days.length} days.`]
  const top = count(most)
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

/** How much of it is used, as a bar. Only nothing is empty, and only all of it is full. */
export function bar(used: number, all: number, width = 30): string {
  const share = all > 0 ? Math.min(1, used / all) : 1
  const least = used > 0 ? 1 : 0
  const full = share === 1 ? width : Math.min(width - 1, Math.max(least, Math.round(share * width)))
  return '█'.repeat(full) + '░'.repeat(width - full)
}

/** In eighths of a row; a day with any request at all is seen. */
function heightOf(count: number, most: number): number {
  return count <= 0 ? 0 : Math.max(1, Math.round((count / most) * ROWS * 8))
}
