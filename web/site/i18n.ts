import { batch, signal } from '@preact/signals'
import { en } from '../words/en.ts'
import { localStore } from './storage.ts'

/** A sentence; where it depends on a count, one for each of the language's forms (Intl.PluralRules). */
export type Translation = string | Partial<Record<Intl.LDMLPluralRule, string>>
export type Catalogue = Readonly<Record<keyof typeof en, Translation>>
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
const CATALOGUES: Record<Exclude<Language, 'en'>, () => Promise<Catalogue>> = {
  es: async () => (await import('../words/es.ts')).es,
  pt: async () => (await import('../words/pt.ts')).pt,
  de: async () => (await import('../words/de.ts')).de,
  fr: async () => (await import('../words/fr.ts')).fr,
  zh: async () => (await import('../words/zh.ts')).zh,
  ar: async () => (await import('../words/ar.ts')).ar,
}

export const language = signal<Language>('en')
const catalogue = signal<Catalogue>(en)

/** The sentence of this name in the reader's language. `count` chooses the form. */
export function t(name: keyof Catalogue, values: Values = {}): string {
  const message = catalogue.value[name]
  const count = Number(values['count'])
  const text =
    typeof message === 'string'
      ? message
      : (message[new Intl.PluralRules(language.value).select(count)] ?? message.other ?? '')
  return text.replace(/\{(\w+)\}/g, (whole, key: string) => formatValue(values[key]) ?? whole)
}

function formatValue(value: string | number | undefined): string | undefined {
  if (typeof value === 'number') return value.toLocaleString(language.value)
  // Kept apart, so that an address or a Latin name does not turn the words around it.
  return value !== undefined && textDirection(language.value) === 'rtl'
    ? `\u2068${value}\u2069`
    : value
}

export function textDirection(language: Language): 'rtl' | 'ltr' {
  return language === 'ar' ? 'rtl' : 'ltr'
}

/** What stands between two things that are named one after the other. */
export function listSeparator(): string {
  return LIST_SEPARATORS[language.value] ?? ', '
}

const LIST_SEPARATORS: Partial<Record<Language, string>> = { zh: '，', ar: '، ' }

/** The language that the reader chose, else that of the page, which the server chose by the browser's wishes. */
export async function loadLanguage(): Promise<void> {
  const preferred = localStore.get('language') ?? document.documentElement.lang
  await applyLanguage(isLanguage(preferred) ? preferred : 'en')
}

export async function setLanguage(chosen: Language): Promise<void> {
  localStore.set('language', chosen)
  await applyLanguage(chosen)
}

let requested: Language | undefined

async function applyLanguage(chosen: Language): Promise<void> {
  requested = chosen
  const found = await loadCatalogue(chosen)
  // Another one may have been chosen meanwhile.
  if (requested !== chosen) return
  if (found) {
    batch(() => {
      catalogue.value = found
      language.value = chosen
    })
  }
  // Also where it could not be had: the server has announced it.
  document.documentElement.lang = language.value
  document.documentElement.dir = textDirection(language.value)
}

/** Undefined when offline, or when the site has moved on to other files since: better as before than not at all. */
async function loadCatalogue(chosen: Language): Promise<Catalogue | undefined> {
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
