export const LANGUAGES = ['en', 'es', 'pt', 'de', 'fr', 'zh', 'ar'] as const
export type Language = (typeof LANGUAGES)[number]

/** The first of our languages that the browser likes best. */
export function negotiateLanguage(accepted = ''): Language {
  const preferences = accepted
    .slice(0, MAX_LENGTH)
    .split(',')
    .map((wish) => /^\s*([a-z]{2,3})(?:-[\w-]*)?\s*(?:;\s*q=([\d.]+))?\s*$/i.exec(wish))
    .map((found) => ({ name: found?.[1]?.toLowerCase(), weight: Number(found?.[2] ?? 1) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
  for (const { name } of preferences) {
    const known = LANGUAGES.find((language) => language === name)
    if (known) return known
  }
  return 'en'
}

const MAX_LENGTH = 500

export function directionOf(language: Language): 'rtl' | 'ltr' {
  return language === 'ar' ? 'rtl' : 'ltr'
}
