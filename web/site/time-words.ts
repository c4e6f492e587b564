import { language } from './words.ts'

/** A moment as the reader writes it, in his own time zone, which is named. */
export function timeWords(iso: string): string {
  return new Date(iso).toLocaleString(language.value, {
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
