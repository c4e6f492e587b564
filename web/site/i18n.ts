import { batch, signal } from '@preact/signals'
import { isLanguage, type Language } from '../../src/shared/languages.ts'
import { type Catalogue, translate, type Values } from '../../src/shared/translate.ts'
import { localStore } from './storage.ts'

const CATALOGUES = import.meta.glob<Catalogue>('../../src/shared/locales/*.json', {
  import: 'default',
})

export const language = signal<Language>('en')
/** Undefined until it is loaded. */
const catalogue = signal<Catalogue | undefined>(undefined)

/** The text in the current language; empty until it is loaded. `count` selects the plural form. */
export function t(name: keyof Catalogue, values: Values = {}): string {
  return translate(catalogue.value?.[name] ?? '', language.value, values)
}

/** The text of a value of the API, if there is one; else the value. */
export function knownText(prefix: 'key_state_' | 'shop_state_', value: string): string {
  const name = `${prefix}${value}`
  return Object.hasOwn(catalogue.value ?? {}, name) ? t(name as keyof Catalogue) : value
}

export function listSeparator(): string {
  return LIST_SEPARATORS[language.value] ?? ', '
}

const LIST_SEPARATORS: Partial<Record<Language, string>> = { zh: '，', ar: '، ' }

/** The language that the user chose, else that of the page, which the server chose by Accept-Language. */
export async function loadLanguage(): Promise<void> {
  const preferred = localStore.get('language') ?? document.documentElement.lang
  await applyLanguage(isLanguage(preferred) ? preferred : 'en')
  // The fallback, if another catalogue cannot be loaded.
  if (!catalogue.value) await applyLanguage('en')
  if (!catalogue.value) throw new Error('the texts of the page cannot be loaded')
}

export async function setLanguage(chosen: Language): Promise<void> {
  localStore.set('language', chosen)
  await applyLanguage(chosen)
}

let requested: Language | undefined

async function applyLanguage(chosen: Language): Promise<void> {
  requested = chosen
  const loaded = await loadCatalogue(chosen, CATALOGUES)
  // Another one may have been chosen meanwhile.
  if (requested !== chosen) return
  if (!loaded) return
  batch(() => {
    catalogue.value = loaded
    language.value = chosen
  })
}

/** Undefined if offline, or if a newer build has replaced the files. */
export async function loadCatalogue<T>(
  chosen: Language,
  catalogues: Record<string, () => Promise<T>>,
): Promise<T | undefined> {
  const load = Object.entries(catalogues).find(([path]) => path.endsWith(`/${chosen}.json`))?.[1]
  return await load?.().catch(() => undefined)
}
