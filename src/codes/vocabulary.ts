import data from './vocabulary.json' with { type: 'json' }

/** A list of words; `vocabulary.json` says what each is for. */
export type WordKind = keyof typeof data.lists

/** The words of one language, with commas between those of a kind. */
export interface Vocabulary extends Record<WordKind, string> {
  script: string
}

/** By language code. */
export const LANGUAGES = Object.fromEntries(
  Object.entries(data.languages).map(([code, table]) => [code, readTable(code, table)]),
) as Record<keyof typeof data.languages, Vocabulary>

function readTable(code: string, table: Record<string, string | string[]>): Vocabulary {
  const keys = new Set(['name', 'script', ...Object.keys(data.lists)])
  const wrong = keys.symmetricDifference(new Set(Object.keys(table)))
  if (wrong.size > 0)
    throw new Error(`vocabulary.json: ${code} lacks or must not have ${[...wrong]}`)
  const lists = Object.entries(table).map(([key, lines]) => [key, [lines].flat().join(', ')])
  return Object.fromEntries(lists) as Vocabulary
}
