import { type Language, textDirection } from './languages.ts'
import type adminEn from './locales/admin/en.json'
import type en from './locales/en.json'

/** A text; if it depends on a count, one text for each plural form of the language (Intl.PluralRules). */
export type Translation = string | Partial<Record<Intl.LDMLPluralRule, string>>
export type Catalogue = Readonly<Record<keyof typeof en, Translation>>
/** The texts of the admin page, which no other page loads. */
export type AdminCatalogue = Readonly<Record<keyof typeof adminEn, string>>
/** What the placeholders of a text stand for. `count` also selects the plural form. */
export type Values = Readonly<Record<string, string | number>>
/** Looks up a text of the page's catalogue in the current language. */
export type Translate = (name: keyof Catalogue, values?: Values) => string

export function translate(translation: Translation, language: Language, values: Values): string {
  const text =
    typeof translation === 'string'
      ? translation
      : (translation[pluralForm(language, values)] ?? translation.other ?? '')
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => {
    const value = values[name]
    return value === undefined ? placeholder : formatValue(value, language)
  })
}

/** A text may have a form for one in a language that has no plural, as in "every month". */
function pluralForm(language: Language, values: Values): Intl.LDMLPluralRule {
  const count = Number(values['count'])
  return count === 1 ? 'one' : new Intl.PluralRules(language).select(count)
}

function formatValue(value: string | number, language: Language): string {
  if (typeof value === 'number') return value.toLocaleString(language)
  // Isolated, so that an address or a Latin name does not reorder the text around it.
  return textDirection(language) === 'rtl' ? `\u2068${value}\u2069` : value
}
