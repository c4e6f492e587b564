import { batch, signal } from '@preact/signals'
import { isLanguage, type Language, textDirection } from '../../src/shared/languages.ts'
import en from '../../src/shared/locales/en.json' with { type: 'json' }
import { type Catalogue, translate, type Values } from '../../src/shared/translate.ts'
import { localStore } from './storage.ts'

// English is bundled, as the fallback if another catalogue cannot be loaded.
const CATALOGUES: Record<Exclude<Language, 'en'>, () => Promise<Catalogue>> = {
  es: async () => (await import('../../src/shared/locales/es.json')).default,
  pt: async () => (await import('../../src/shared/locales/pt.json')).default,
  de: async () => (await import('../../src/shared/locales/de.json')).default,
  fr: async () => (await import('../../src/shared/locales/fr.json')).default,
  zh: async () => (await import('../../src/shared/locales/zh.json')).default,
  ar: async () => (await import('../../src/shared/locales/ar.json')).default,
}

export const language = signal<Language>('en')
const catalogue = signal<Catalogue>(en)

/** The text in the current language. `count` selects the plural form. */
export function t(name: keyof Catalogue, values: Values = {}): string {
  return translate(catalogue.value[name], language.value, values)
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
  document.documentElement.dir = textDirection(language.value)
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
