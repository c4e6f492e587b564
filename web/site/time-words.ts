import { language } from './words.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Unit = 'day' | 'hour' | 'minute' | 'second'
const SECONDS: Record<Unit, number> = { day: DAY, hour: HOUR, minute: MINUTE, second: 1 }

/** A moment as the reader writes it, in his own time zone, which is named. */
export function timeWords(time: string | Date): string {
  return new Date(time).toLocaleString(language.value, {
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZoneName: 'short',
  })
}

/** A UTC day, `2026-03-01`. */
export function dayWords(date: string, length: 'short' | 'long' = 'long'): string {
  return new Date(`${date}T00:00:00Z`).toLocaleDateString(language.value, {
    timeZone: 'UTC',
    month: length,
    day: 'numeric',
  })
}

/** How long something lasts, in the two units that matter; seconds only where they do. */
export function spanWords(ms: number, language: string, style: 'short' | 'long' = 'short'): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const units = unitsOf(seconds)
  let rest = seconds
  const parts = units.flatMap((unit) => {
    const count = Math.floor(rest / SECONDS[unit])
    rest -= count * SECONDS[unit]
    return count > 0 ? [unitWords(count, unit, language, style)] : []
  })
  const [smallest = 'second'] = units.slice(-1)
  if (parts.length === 0) return unitWords(0, smallest, language, style)
  return new Intl.ListFormat(language, { type: 'unit', style: 'narrow' }).format(parts)
}

/** How long to wait, rounded up: who comes too early is refused again. */
export function waitWords(seconds: number): string {
  const step = seconds < 2 * MINUTE ? 1 : MINUTE
  return spanWords(Math.ceil(seconds / step) * step * 1000, language.value, 'long')
}

/** So many milliseconds after which the words are others. */
export function nextChangeMs(ms: number): number {
  const step = ms > 2 * MINUTE * 1000 ? MINUTE * 1000 : 1000
  return (ms % step) + 1
}

function unitsOf(seconds: number): Unit[] {
  if (seconds >= 2 * DAY) return ['day', 'hour']
  if (seconds >= HOUR) return ['hour', 'minute']
  return seconds >= 2 * MINUTE ? ['minute'] : ['minute', 'second']
}

function unitWords(count: number, unit: Unit, language: string, style: 'short' | 'long'): string {
  const format = { style: 'unit', unit, unitDisplay: style } as const
  return new Intl.NumberFormat(language, format).format(count)
}
