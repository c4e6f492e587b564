import { batch, signal } from '@preact/signals'
import { directionOf, type Language } from '../../src/shared/languages.ts'
import { en } from '../words/en.ts'
import { localStore } from './storage.ts'

/** With a count, one text per plural form of the language (Intl.PluralRules). */
export type Translation = string | Partial<Record<Intl.LDMLPluralRule, string>>
export type Catalogue = Readonly<Record<keyof typeof en, Translation>>
type Values = Record<string, string | number>

/** Each in its own language. */
export const LANGUAGE_NAMES: Record<Language, string> = {
  en: 'English',
  es: 'Español',
  pt: 'Português',
  de: 'Deutsch',
  fr: 'Français',
  zh: '中文',
  ar: 'العربية',
}

// English is bundled, as the fallback if another catalogue cannot be loaded.
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

/** The text in the current language. `count` selects the plural form. */
export function t(name: keyof Catalogue, values: Values = {}): string {
  const translation = catalogue.value[name]
  const count = Number(values['count'])
  const text =
    typeof translation === 'string'
      ? translation
      : (translation[new Intl.PluralRules(language.value).select(count)] ?? translation.other ?? '')
  return text.replace(/\{(\w+)\}/g, (whole, key: string) => formatValue(values[key]) ?? whole)
}

function formatValue(value: string | number | undefined): string | undefined {
  if (typeof value === 'number') return value.toLocaleString(language.value)
  // Isolated, so that an address or a Latin name does not reorder the text around it.
  return value !== undefined && directionOf(language.value) === 'rtl'
    ? `\u2068${value}\u2069`
    : value
}

export function listSeparator(): string {
  return LIST_SEPARATORS[language.value] ?? ', '
}

const LIST_SEPARATORS: Partial<Record<Language, string>> = { zh: '，', ar: '، ' }

/** The language that the user chose, else that of the page, which the server chose by Accept-Language. */
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
  const loaded = await loadCatalogue(chosen)
  // Another one may have been chosen meanwhile.
  if (requested !== chosen) return
  if (loaded) {
    batch(() => {
      catalogue.value = loaded
      language.value = chosen
    })
  }
  // Even if it could not be loaded: the server has set another one.
  document.documentElement.lang = language.value
  document.documentElement.dir = directionOf(language.value)
}

/** Undefined if offline, or if a newer build has replaced the files. */
async function loadCatalogue(chosen: Language): Promise<Catalogue | undefined> {
  if (chosen === 'en') return en
  try {
    return await CATALOGUES[chosen]()
  } catch {
    return undefined
  }
}

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGE_NAMES, text)
}
