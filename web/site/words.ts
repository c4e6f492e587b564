import { signal } from '@preact/signals'
import { en } from '../words/en.ts'
import { kept } from './kept.ts'

/** A sentence; where it depends on a count, one for each of the language's forms (Intl.PluralRules). */
export type Message = string | Partial<Record<Intl.LDMLPluralRule, string>>
export type Words = Readonly<Record<keyof typeof en, Message>>
type Values = Record<string, string | number>

/** The languages of the page, each in its own name. */
export const LANGUAGES = {
  en: 'English',
  es: 'Español',
  pt: 'Português',
  de: 'Deutsch',
  fr: 'Français',
  zh: '中文',
  ar: 'العربية',
} as const
export type Language = keyof typeof LANGUAGES

// English is part of the page: it is there when another catalogue cannot be loaded.
const CATALOGUES: Record<Exclude<Language, 'en'>, () => Promise<Words>> = {
  es: async () => (await import('../words/es.ts')).es,
  pt: async () => (await import('../words/pt.ts')).pt,
  de: async () => (await import('../words/de.ts')).de,
  fr: async () => (await import('../words/fr.ts')).fr,
  zh: async () => (await import('../words/zh.ts')).zh,
  ar: async () => (await import('../words/ar.ts')).ar,
}

export const language = signal<Language>('en')
const words = signal<Words>(en)

/** The sentence of this name in the reader's language. `count` chooses the form. */
export function say(name: keyof Words, values: Values = {}): string {
  const message = words.value[name]
  const count = Number(values['count'])
  const text =
    typeof message === 'string'
      ? message
      : (message[new Intl.PluralRules(language.value).select(count)] ?? message.other ?? '')
  return text.replace(/\{(\w+)\}/g, (whole, key: string) => written(values[key]) ?? whole)
}

function written(value: string | number | undefined): string | undefined {
  return typeof value === 'number' ? value.toLocaleString(language.value) : value
}

/** The language that the reader chose, else that of the page, which the server chose by the browser's wishes. */
export async function openWords(): Promise<void> {
  const wish = kept.find('language') ?? document.documentElement.lang
  await speak(isLanguage(wish) ? wish : 'en')
}

export async function chooseLanguage(chosen: Language): Promise<void> {
  kept.keep('language', chosen)
  await speak(chosen)
}

async function speak(chosen: Language): Promise<void> {
  try {
    words.value = chosen === 'en' ? en : await CATALOGUES[chosen]()
  } catch {
    // Offline, or the site has moved on to other files since: better in English than not at all.
    return
  }
  language.value = chosen
  document.documentElement.lang = chosen
  document.documentElement.dir = chosen === 'ar' ? 'rtl' : 'ltr'
}

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text)
}
