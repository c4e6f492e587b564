import { batch, signal } from '@preact/signals'
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
  if (typeof value === 'number') return value.toLocaleString(language.value)
  // Kept apart, so that an address or a Latin name does not turn the words around it.
  return value !== undefined && directionOf(language.value) === 'rtl'
    ? `\u2068${value}\u2069`
    : value
}

export function directionOf(language: Language): 'rtl' | 'ltr' {
  return language === 'ar' ? 'rtl' : 'ltr'
}

/** What stands between two things that are named one after the other. */
export function comma(): string {
  return COMMAS[language.value] ?? ', '
}

const COMMAS: Partial<Record<Language, string>> = { zh: '，', ar: '، ' }

/** The language that the reader chose, else that of the page, which the server chose by the browser's wishes. */
export async function openWords(): Promise<void> {
  const wish = kept.find('language') ?? document.documentElement.lang
  await speak(isLanguage(wish) ? wish : 'en')
}

export async function chooseLanguage(chosen: Language): Promise<void> {
  kept.keep('language', chosen)
  await speak(chosen)
}

let wished: Language | undefined

async function speak(chosen: Language): Promise<void> {
  wished = chosen
  const found = await catalogueOf(chosen)
  // Another one may have been chosen meanwhile.
  if (wished !== chosen) return
  if (found) {
    batch(() => {
      words.value = found
      language.value = chosen
    })
  }
  // Also where it could not be had: the server has announced it.
  document.documentElement.lang = language.value
  document.documentElement.dir = directionOf(language.value)
}

/** Undefined when offline, or when the site has moved on to other files since: better as before than not at all. */
async function catalogueOf(chosen: Language): Promise<Words | undefined> {
  if (chosen === 'en') return en
  try {
    return await CATALOGUES[chosen]()
  } catch {
    return undefined
  }
}

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text)
}
