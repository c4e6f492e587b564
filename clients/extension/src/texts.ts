import type own from '../locales/en.json'
import type { SHARED_TEXTS } from '../shared-texts.ts'
import { browser } from './browser.ts'

type SharedText = (typeof SHARED_TEXTS)[number]
export type TextName = keyof typeof own | SharedText | 'language' | 'direction'

/** A text in the language of the browser. The values are in the order of the placeholders of the English text. */
export function t(name: TextName, ...values: string[]): string {
  const isRtl = browser.i18n.getMessage('direction') === 'rtl'
  // Isolated, so that an address does not reorder the text around it.
  const isolated = isRtl ? values.map((value) => `\u2068${value}\u2069`) : values
  return browser.i18n.getMessage(name, isolated)
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** In the largest unit, rounded; at least a minute. */
export function formatDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, one]) => ms >= one) ?? ['minute', 60_000]
  const format = new Intl.NumberFormat(t('language'), { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(Math.max(1, Math.round(ms / size)))
}

/** The domain of the sender, and whether it is proven. */
export function senderText(sender: string, badge: 'proven' | 'forged' | 'unproven'): string {
  if (badge !== 'unproven') return t(`reader_${badge}`, sender)
  return `${sender} – ${t('reader_unproven')}`
}
