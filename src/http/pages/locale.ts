import { LANGUAGES, type Language, negotiateLanguage } from '../../shared/languages.ts'
import { ar } from './plain-words/ar.ts'
import { de } from './plain-words/de.ts'
import { en, type PlainWords } from './plain-words/en.ts'
import { es } from './plain-words/es.ts'
import { fr } from './plain-words/fr.ts'
import { pt } from './plain-words/pt.ts'
import { zh } from './plain-words/zh.ts'

/** One of our languages, as the pages without scripts speak it. */
export interface Locale {
  language: Language
  say(name: keyof PlainWords, values?: Record<string, string>): string
  number(number: number): string
  /** How long it is from one time to another: `in 3 hours`, `5 minutes ago`. */
  relativeTime(from: Date, to: Date): string
  /** How long something lasts: `24 hours`. */
  duration(seconds: number): string
  /** UTC: without a script nobody knows the reader's clock. */
  dateTime(time: Date): string
  size(bytes: number): string
}

const WORDS: Record<Language, PlainWords> = { en, es, pt, de, fr, zh, ar }

// Making what formats numbers and times takes longer than using it a hundred times.
const LOCALES = new Map(LANGUAGES.map((language) => [language, createLocale(language)]))

/** The one that this browser likes best. */
export function localeOf(accepted: string | undefined): Locale {
  const language = negotiateLanguage(accepted)
  return LOCALES.get(language) ?? createLocale(language)
}

function createLocale(language: Language): Locale {
  const numbers = new Intl.NumberFormat(language)
  const relative = new Intl.RelativeTimeFormat(language)
  const now = new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(0, 'second')
  const times = new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
  const amount = (number: number, unit: string, unitDisplay: 'long' | 'short') =>
    new Intl.NumberFormat(language, {
      style: 'unit',
      unit,
      unitDisplay,
      maximumFractionDigits: 1,
    }).format(number)

  return {
    language,
    say: (name, values = {}) =>
      WORDS[language][name].replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole),
    number: (number) => numbers.format(number),
    relativeTime(from, to) {
      const seconds = (to.getTime() - from.getTime()) / 1000
      const { unit, each } = unitOf(Math.abs(seconds))
      const count = Math.sign(seconds) * Math.round(Math.abs(seconds) / each)
      return count === 0 ? now : relative.format(count, unit)
    },
    duration(seconds) {
      const { unit, each } = unitOf(seconds)
      return amount(Math.round(seconds / each), unit, 'long')
    },
    dateTime: (time) => `${times.format(time)} UTC`,
    size: (bytes) =>
      bytes < 1_000_000
        ? amount(Math.max(Math.ceil(bytes / 1000), 1), 'kilobyte', 'short')
        : amount(bytes / 1_000_000, 'megabyte', 'short'),
  }
}

const UNITS = [
  { unit: 'day', each: 86_400 },
  { unit: 'hour', each: 3_600 },
  { unit: 'minute', each: 60 },
  { unit: 'second', each: 1 },
] as const

/** The largest of which there are two or more: a day is 24 hours, and an hour 60 minutes. */
function unitOf(seconds: number): (typeof UNITS)[number] {
  return UNITS.find(({ each }) => seconds >= 1.5 * each) ?? UNITS[3]
}
