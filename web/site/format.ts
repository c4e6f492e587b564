import { language } from './i18n.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Unit = 'day' | 'hour' | 'minute' | 'second'
const SECONDS: Record<Unit, number> = { day: DAY, hour: HOUR, minute: MINUTE, second: 1 }

/** In the time zone of the browser, which is named. */
export function formatDateTime(time: string | Date): string {
  return new Date(time).toLocaleString(language.value, {
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  })
}

/** The same, where there is little room and the time zone is obvious. `medium` has seconds. */
export function formatShortTime(
  time: string | Date,
  timeStyle: 'short' | 'medium' = 'short',
): string {
  return new Date(time).toLocaleString(language.value, { dateStyle: 'medium', timeStyle })
}

export function capitalised(text: string): string {
  return text.replace(/^./u, (first) => first.toLocaleUpperCase(language.value))
}

/** In the two largest units; seconds only below two minutes. */
export function formatDuration(
  ms: number,
  language: string,
  style: 'short' | 'long' = 'short',
): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const units = unitsOf(seconds)
  let remaining = seconds
  const parts = units.flatMap((unit) => {
    const count = Math.floor(remaining / SECONDS[unit])
    remaining -= count * SECONDS[unit]
    return count > 0 ? [formatUnit(count, unit, language, style)] : []
  })
  const [smallest = 'second'] = units.slice(-1)
  if (parts.length === 0) return formatUnit(0, smallest, language, style)
  return new Intl.ListFormat(language, { type: 'unit', style: 'narrow' }).format(parts)
}

/** Rounded up: retrying too early would fail again. */
export function formatWait(seconds: number): string {
  const step = seconds < 2 * MINUTE ? 1 : MINUTE
  return formatDuration(Math.ceil(seconds / step) * step * 1000, language.value, 'long')
}

/** Milliseconds until the formatted duration changes. */
export function nextChangeMs(ms: number): number {
  const step = ms > 2 * MINUTE * 1000 ? MINUTE * 1000 : 1000
  return (ms % step) + 1
}

function unitsOf(seconds: number): Unit[] {
  if (seconds >= 2 * DAY) return ['day', 'hour']
  if (seconds >= HOUR) return ['hour', 'minute']
  return seconds >= 2 * MINUTE ? ['minute'] : ['minute', 'second']
}

function formatUnit(count: number, unit: Unit, language: string, style: 'short' | 'long'): string {
  const format = { style: 'unit', unit, unitDisplay: style } as const
  return new Intl.NumberFormat(language, format).format(count)
}

/** How long ago if that was today, else the day. */
export function formatReceived(at: Date, now: Date, language: string): string {
  const { ago, day, year } = formatsOf(language)
  const past = Math.max(0, now.getTime() - at.getTime()) / 1000
  if (past < MINUTE) return ago.format(0, 'second')
  if (past < HOUR) return ago.format(-Math.floor(past / MINUTE), 'minute')
  if (at.toDateString() === now.toDateString()) return ago.format(-Math.floor(past / HOUR), 'hour')
  return at.getFullYear() === now.getFullYear() ? day.format(at) : year.format(at)
}

type Formats = ReturnType<typeof makeFormats>
const formatCache = new Map<string, Formats>()

/** Creating a formatter costs more than using it a thousand times. */
function formatsOf(language: string): Formats {
  const formats = formatCache.get(language) ?? makeFormats(language)
  formatCache.set(language, formats)
  return formats
}

function makeFormats(language: string) {
  return {
    ago: new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' }),
    day: new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short' }),
    year: new Intl.DateTimeFormat(language, { dateStyle: 'medium' }),
  }
}
