/** The languages of the site, each by its own name. */
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

export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text)
}

const MAX_HEADER_LENGTH = 500

/** The language that an Accept-Language header prefers; English if we have none of those it names. */
export function negotiateLanguage(header = ''): Language {
  const preferences = header
    .slice(0, MAX_HEADER_LENGTH)
    .split(',')
    .map((part) => /^\s*([a-z]{2,3})(?:-[\w-]*)?\s*(?:;\s*q=([\d.]+))?\s*$/i.exec(part))
    .map((match) => ({ name: match?.[1]?.toLowerCase(), weight: Number(match?.[2] ?? 1) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ name }) => name)
  return preferences.find(isLanguage) ?? 'en'
}

export function textDirection(language: Language): 'rtl' | 'ltr' {
  return language === 'ar' ? 'rtl' : 'ltr'
}
