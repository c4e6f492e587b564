import { fold } from './fold.ts'
import { LANGUAGES, type Vocabulary } from './vocabulary.ts'
import { readEntries } from './word-finder.ts'

/**
 * The languages of texts, English included. The same word is a code in one language and a street in another, so only
 * these tables are searched. Related languages may be returned together, and all that share a word with a few lines.
 */
export function languagesOf(texts: string[]): Vocabulary[] {
  const folded = fold(texts.map((text) => text.slice(0, MAX_SAMPLE)).join('\n'))
  const scores = scoreLanguages(new Set(folded.toLowerCase().match(WORD)))
  const found = new Set([LANGUAGES.en])
  for (const { letter, candidates } of isOnlyLatin(folded) ? LATIN : SCRIPTS) {
    if (!letter.test(folded)) continue
    const scoreOf = (language: Vocabulary) =>
      scores.get(language) ?? (candidates.length === 1 ? 1 : 0)
    const best = Math.max(...candidates.map(scoreOf))
    const least = best < MIN_SCORE ? 0 : Math.max(MIN_SHARE * best, best - MARGIN)
    for (const language of candidates) if (scoreOf(language) > least) found.add(language)
  }
  // A short Japanese text may have no kana.
  if (found.has(LANGUAGES.zh)) found.add(LANGUAGES.ja)
  return [...found]
}

/** Without letters of other scripts. */
function isOnlyLatin(text: string): boolean {
  return !/[\u0250-\uffff]/.test(text)
}

const SCRIPTS = Array.from(
  Map.groupBy(Object.values(LANGUAGES), ({ script }) => script),
  ([script, candidates]) => ({ letter: letterOf(script), candidates }),
)
const LATIN = SCRIPTS.filter(({ candidates }) => candidates.includes(LANGUAGES.en))
const MAX_SAMPLE = 1_000
const MIN_SCORE = 2
const CLEAR_SCORE = 5
const MIN_SHARE = 0.4
/** Related languages differ by chance. */
const MARGIN = 1.5
const MIN_STEM = 3
const RECOGNIZED_BY = [
  ...(['common', 'code', 'sale', 'other', 'number', 'purpose', 'type', 'is', 'particle'] as const),
]
const WORD = /[\p{L}\p{M}]+/gu

/** Matches a letter of the script, or of one of several. */
function letterOf(scripts: string): RegExp {
  const letters = scripts.split(', ').map((script) => `\\p{sc=${script}}`)
  return new RegExp(letters.join('|'), 'u')
}

/** Each word counts once, and less if several languages have it. Parts of words count only if whole ones are too few. */
function scoreLanguages(words: Set<string>): Map<Vocabulary, number> {
  index ??= indexLanguages()
  const { exact, stems, endings } = index
  const scores = new Map<Vocabulary, number>()
  const others = [...words].filter((word) => !addScore(scores, exact.get(word)))
  if (Math.max(0, ...scores.values()) >= CLEAR_SCORE) return scores
  for (const word of others) {
    for (let length = word.length; length >= MIN_STEM; length -= 1) {
      const part = stems.get(word.slice(0, length)) ?? endings.get(word.slice(-length))
      if (addScore(scores, part)) break
    }
  }
  return scores
}

function addScore(scores: Map<Vocabulary, number>, languages: Vocabulary[] = []): boolean {
  for (const language of languages) {
    scores.set(language, (scores.get(language) ?? 0) + 1 / languages.length)
  }
  return languages.length > 0
}

interface LanguageIndex {
  exact: Map<string, Vocabulary[]>
  /** Words that may be continued. */
  stems: Map<string, Vocabulary[]>
  /** Words that may be the end of a longer one. */
  endings: Map<string, Vocabulary[]>
}

let index: LanguageIndex | undefined

function indexLanguages(): LanguageIndex {
  const built: LanguageIndex = { exact: new Map(), stems: new Map(), endings: new Map() }
  for (const language of Object.values(LANGUAGES)) {
    const entries = readEntries(RECOGNIZED_BY.map((kind) => language[kind]).join())
    for (const { word, prefix, suffix } of entries) {
      const words = suffix ? built.endings : prefix ? built.stems : built.exact
      for (const one of word.split(' ')) addLanguage(words, one, language)
    }
  }
  // Vietnamese without marks; a word of many languages.
  built.exact.delete('ma')
  return built
}

function addLanguage(words: Map<string, Vocabulary[]>, word: string, language: Vocabulary): void {
  const known = words.get(word)
  if (!known) words.set(word, [language])
  else if (!known.includes(language)) known.push(language)
}
