import { type ApiKey, nextUtcDay, remainingQuota, utcDayText } from '../core/key.ts'
import { utcTimestamp } from '../core/time.ts'
import { type KeyAdminDeps, keyUsage } from '../service/keys/keys.ts'
import { theKey } from './key.ts'
import { bar, count, endShown, keyJson, keyLines, plot, stateOf } from './key-view.ts'
import { type Print, table } from './output.ts'

interface UsageOptions {
  json?: boolean
  /** True where people look: then it is drawn. */
  drawn: boolean
}

/** `mayfly key usage`: what is used and left, and the last 30 days. */
export async function usage(
  book: KeyAdminDeps,
  name: string,
  { json, drawn }: UsageOptions,
  print: Print,
): Promise<void> {
  const key = await theKey(book, name)
  const days = await keyUsage(book, key.id)
  if (json) {
    const shown = days.map(({ day, count }) => ({ date: utcDayText(day), requests: count }))
    print(JSON.stringify({ ...keyJson(key), days: shown }, null, 2))
    return
  }
  const rows = days.map(({ day, count }) => [utcDayText(day), String(count)])
  const lines = drawn
    ? [...drawnKey(key, book.now()), '', ...plot(days)]
    : [...keyLines(key, book.now()), '', ...table([['DAY', 'REQUESTS'], ...rows])]
  for (const line of lines) print(line)
}

function drawnKey(key: ApiKey, now: Date): string[] {
  const { maxRequests, maxPerDay, used, usedToday } = key
  const left = remainingQuota(key)
  const midnight = utcTimestamp(nextUtcDay(now))
  return [
    `${key.prefix}  ${key.plan}  ${stateOf(key, now)}`,
    '',
    ...table([
      [
        'Used',
        `${count(used)} of ${count(maxRequests)}`,
        bar(used, maxRequests),
        `${count(left.all)} left`,
      ],
      maxPerDay === undefined
        ? ['Today', count(usedToday), 'no daily limit']
        : [
            'Today',
            `${count(usedToday)} of ${count(maxPerDay)}`,
            bar(usedToday, maxPerDay),
            `${count(left.today ?? 0)} left until ${midnight}`,
          ],
    ]),
    `Ends   ${endShown(key)}`,
  ]
}
