import { effect, signal } from '@preact/signals'
import type { Language } from '../../src/shared/languages.ts'
import en from '../../src/shared/locales/admin/en.json' with { type: 'json' }
import { type AdminCatalogue, translate, type Values } from '../../src/shared/translate.ts'
import { language } from '../site/i18n.ts'

// Besides the texts that all pages share: no other page has to load these.
const CATALOGUES: Record<Exclude<Language, 'en'>, () => Promise<AdminCatalogue>> = {
  es: async () => (await import('../../src/shared/locales/admin/es.json')).default,
  pt: async () => (await import('../../src/shared/locales/admin/pt.json')).default,
  de: async () => (await import('../../src/shared/locales/admin/de.json')).default,
  fr: async () => (await import('../../src/shared/locales/admin/fr.json')).default,
  zh: async () => (await import('../../src/shared/locales/admin/zh.json')).default,
  ar: async () => (await import('../../src/shared/locales/admin/ar.json')).default,
}

const loaded = signal<{ language: Language; texts: AdminCatalogue }>({ language: 'en', texts: en })

/** A text of the admin page in the current language. */
export function a(name: keyof AdminCatalogue, values: Values = {}): string {
  return translate(loaded.value.texts[name], loaded.value.language, values)
}

async function loadTexts(chosen: Language): Promise<void> {
  try {
    const texts = chosen === 'en' ? en : await CATALOGUES[chosen]()
    if (language.value === chosen) loaded.value = { language: chosen, texts }
  } catch {
    // Offline, or a newer build has replaced the files: the old texts stay.
  }
}

/** Resolves with the texts of the current language, and follows its changes. */
export async function followLanguage(): Promise<void> {
  let first: Promise<void> | undefined
  effect(() => {
    const loading = loadTexts(language.value)
    first ??= loading
  })
  await first
}
