import { readFileSync } from 'node:fs'
import { LANGUAGES, type Language, negotiateLanguage } from '../../shared/languages.ts'
import {
  type AdminCatalogue,
  type Catalogue,
  translate,
  type Values,
} from '../../shared/translate.ts'
import type plainEn from './plain/locales/en.json'

/** What the pages without scripts say beyond the texts that they share with the page. */
type PlainCatalogue = Readonly<Record<keyof typeof plainEn, string>>

type AllTexts = Catalogue & PlainCatalogue & AdminCatalogue

/** Texts, numbers and times in one language, for the HTML that the server renders. */
export interface Locale {
  language: Language
  t(name: keyof AllTexts, values?: Values): string
  /** From one time to another: `in 3 hours`, `5 minutes ago`. */
  relativeTime(from: Date, to: Date): string
  /** How long something lasts: `24 hours`. */
  duration(seconds: number): string
  /** In UTC: without a script the reader's time zone is unknown. */
  dateTime(time: Date): string
}

const FOLDERS = ['../../shared/locales', '../../shared/locales/admin', './plain/locales']

export const CATALOGUES = Object.fromEntries(
  Object.keys(LANGUAGES).map((language) => [language, readCatalogue(language)]),
) as Record<Language, AllTexts>

/** catalogues.test.ts proves that each language has all texts. */
function readCatalogue(language: string): AllTexts {
  const texts = FOLDERS.map((folder) => {
    const file = new URL(`${folder}/${language}.json`, import.meta.url)
    return JSON.parse(readFileSync(file, 'utf8'))
  })
  return Object.assign({}, ...texts)
}

// Creating Intl formatters takes longer than using them a hundred times.
const locales = new Map<Language, Locale>()

/** The locale that the Accept-Language header of a request prefers. */
export function localeOf(acceptLanguage: string | undefined): Locale {
  const language = negotiateLanguage(acceptLanguage)
  const locale = locales.get(language) ?? createLocale(language)
  locales.set(language, locale)
  return locale
}

function createLocale(language: Language): Locale {
  const relative = new Intl.RelativeTimeFormat(language)
  const now = new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(0, 'second')
  const times = new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'UTC',
  })

  return {
    language,
    t: (name, values = {}) => translate(CATALOGUES[language][name], language, values),
    relativeTime(from, to) {
      const seconds = (to.getTime() - from.getTime()) / 1000
      const { unit, each } = unitOf(Math.abs(seconds))
      const count = Math.sign(seconds) * Math.round(Math.abs(seconds) / each)
      return count === 0 ? now : relative.format(count, unit)
    },
    duration(seconds) {
      const { unit, each } = unitOf(seconds)
      const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' })
      return format.format(Math.round(seconds / each))
    },
    dateTime: (time) => `${times.format(time)} UTC`,
  }
}

const UNITS = [
  { unit: 'day', each: 86_400 },
  { unit: 'hour', each: 3_600 },
  { unit: 'minute', each: 60 },
  { unit: 'second', each: 1 },
] as const

/** The largest unit of which there are at least 1.5: a day is 24 hours, an hour is 60 minutes. */
function unitOf(seconds: number): (typeof UNITS)[number] {
  return UNITS.find(({ each }) => seconds >= 1.5 * each) ?? UNITS[3]
}
