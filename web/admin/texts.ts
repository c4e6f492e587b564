import { effect, signal } from '@preact/signals'
import type { Language } from '../../src/shared/languages.ts'
import en from '../../src/shared/locales/admin/en.json' with { type: 'json' }
import { type AdminCatalogue, translate, type Values } from '../../src/shared/translate.ts'
import { language, t } from '../site/i18n.ts'

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

/** A label of a series, or the reason of a webhook. Classes of statuses are the same in all languages. */
export function labelText(label: string): string {
  const status = /^status_(\d+)$/.exec(label)?.[1]
  if (status !== undefined) return a('admin_label_status', { status })
  const quota = QUOTAS.find((one) => one === label)
  if (quota) return t(`key_state_${quota}`)
  const known = LABELS.find((one) => one === label)
  return known ? a(`admin_label_${known}`) : label.replaceAll('_', ' ')
}

const QUOTAS = ['plan_expired', 'quota_exhausted', 'daily_limit'] as const

const LABELS = [
  'stored',
  'fetched',
  'no_recipients',
  'full',
  'blocked',
  'limit_reached',
  'sender_not_allowed',
  'no_space',
  'unavailable',
  'fault',
  'too_many_mails',
  'too_much_data',
  'unknown',
  'foreign',
  'too_many_connections',
  'shutting_down',
  'bad_proxy_header',
  'timeout',
  'not_resolved',
  'not_allowed',
  'connection_failed',
  'tls',
  'invalid_response',
  'gone',
  'failing',
  'p50',
  'p99',
] as const

/** Why an account is not used, or fails; null if there is no reason. Rare ones are English. */
export function accountReason(text: string | null): string | null {
  if (text === null || text === '') return null
  const [, reason = text, code] = /^(.*?)(?: \((\w+)\))?$/.exec(text) ?? []
  const [limit] = /\d+/.exec(reason) ?? []
  const name = REASONS[reason.replace(/\d+/, '{limit}')]
  if (!name) return text
  const translated = a(name, limit === undefined ? {} : { limit: Number(limit) })
  return code === undefined ? translated : `${translated} (${code})`
}

/** As the service stores them. */
const REASONS: Readonly<Record<string, keyof AdminCatalogue>> = {
  deactivated: 'admin_account_deactivated',
  'not in the accounts file': 'admin_account_not_in_file',
  'inactive in the accounts file': 'admin_account_off_in_file',
  'new: restart the service to use it': 'admin_account_new',
  'too many simultaneous connections to this account': 'admin_account_connections',
  'the account has exhausted its daily quota at the server': 'admin_account_quota',
  'the server asks us to slow down': 'admin_account_throttled',
  'the account is locked until its owner signs in with a browser': 'admin_account_locked',
  'the server requires an app password instead of the account password': 'admin_account_password',
  'the server refused a command': 'admin_account_refused',
  'logins are temporarily unavailable at the server': 'admin_account_no_logins',
  'the server does not accept the login': 'admin_account_login',
  'the server’s certificate is not trusted': 'admin_account_certificate',
  'the server does not speak TLS on this port': 'admin_account_no_tls',
  'the server cannot be reached': 'admin_account_unreachable',
  'invalid response from the server': 'admin_account_invalid',
  'connection closed': 'admin_account_closed',
  'the server does not respond': 'admin_account_silent',
  'fetched mail cannot be stored at the moment': 'admin_account_not_stored',
  'daily limit of {limit} MB reached': 'admin_account_bytes',
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
