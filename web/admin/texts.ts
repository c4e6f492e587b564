import { effect, signal } from '@preact/signals'
import { formatSize } from '../../src/shared/format-size.ts'
import type { Language } from '../../src/shared/languages.ts'
import en from '../../src/shared/locales/admin/en.json' with { type: 'json' }
import { type AdminCatalogue, translate, type Values } from '../../src/shared/translate.ts'
import { formatShortTime } from '../site/format.ts'
import { language, loadCatalogue } from '../site/i18n.ts'
import { webhookReason } from '../site/webhook-text.ts'

// Besides the texts that all pages share: no other page has to load these.
const CATALOGUES = import.meta.glob<AdminCatalogue>(
  ['../../src/shared/locales/admin/*.json', '!../../src/shared/locales/admin/en.json'],
  { import: 'default' },
)

const loaded = signal<{ language: Language; texts: AdminCatalogue }>({ language: 'en', texts: en })

/** A text of the admin page in the current language. */
export function a(name: keyof AdminCatalogue, values: Values = {}): string {
  return translate(loaded.value.texts[name], loaded.value.language, values)
}

/** A label of a series, or why a domain is suspended. */
export function labelText(label: string): string {
  const name = `admin_label_${label}`
  return isName(name) ? a(name) : webhookReason(label)
}

/** Why an account is not used, or fails, which the service says in English; null if there is no reason. Rare ones stay so. */
export function accountReason(text: string | null): string | null {
  if (text === null || text === '') return null
  const [, reason = text, code] = /^(.*?)(?: \((\w+)\))?$/.exec(text) ?? []
  const [limit] = /\d+/.exec(reason) ?? []
  const english = reason.replace(/\d+/, '{limit}').replace(/^./, (first) => first.toUpperCase())
  const name = Object.keys(en)
    .filter(isName)
    .find((one) => en[one] === english)
  if (name === undefined) return text
  const translated = a(name, limit === undefined ? {} : { limit: Number(limit) })
  return code === undefined ? translated : `${translated} (${code})`
}

function isName(text: string): text is keyof AdminCatalogue {
  return Object.hasOwn(en, text)
}

export function sizeText(bytes: number): string {
  return formatSize(bytes, language.value)
}

export function timeText(iso: string): string
export function timeText(iso: string | null): string | null
export function timeText(iso: string | null): string | null {
  return iso === null ? null : formatShortTime(iso)
}

async function loadTexts(chosen: Language): Promise<void> {
  const texts = chosen === 'en' ? en : await loadCatalogue(chosen, CATALOGUES)
  if (texts && language.value === chosen) loaded.value = { language: chosen, texts }
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
