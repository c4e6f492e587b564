import { batch, signal } from '@preact/signals'
import { isLanguage, type Language, textDirection } from '../../src/shared/languages.ts'
import en from '../../src/shared/locales/en.json' with { type: 'json' }
import { type Catalogue, translate, type Values } from '../../src/shared/translate.ts'
import { localStore } from './storage.ts'

// English is bundled, as the fallback if another catalogue cannot be loaded.
const CATALOGUES = import.meta.glob<Catalogue>(
  ['../../src/shared/locales/*.json', '!../../src/shared/locales/en.json'],
  { import: 'default' },
)

export const language = signal<Language>('en')
const catalogue = signal<Catalogue>(en)

/** The text in the current language. `count` selects the plural form. */
export function t(name: keyof Catalogue, values: Values = {}): string {
  return translate(catalogue.value[name], language.value, values)
}

/** The text of a value of the API, if there is one; else the value. */
export function knownText(prefix: 'key_state_' | 'shop_state_', value: string): string {
  const name = `${prefix}${value}`
  return Object.hasOwn(en, name) ? t(name as keyof Catalogue) : value
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
  const loaded = await loadCatalogue(chosen, en, CATALOGUES)
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
export async function loadCatalogue<T>(
  chosen: Language,
  english: T,
  others: Record<string, () => Promise<T>>,
): Promise<T | undefined> {
  const load = Object.entries(others).find(([path]) => path.endsWith(`/${chosen}.json`))?.[1]
  return chosen === 'en' ? english : await load?.().catch(() => undefined)
}
