import { fold } from './fold.ts'
import type { Vocabulary, WordKind } from './vocabulary.ts'

/** The words of one kind, folded and without wildcards. */
export function wordsOf(kind: WordKind, language: Vocabulary): Set<string> {
  const byKind = getOrAdd(wordSets, language, () => new Map<WordKind, Set<string>>())
  return getOrAdd(byKind, kind, () => new Set(readEntries(language[kind]).map(({ word }) => word)))
}

const wordSets = new Map<Vocabulary, Map<WordKind, Set<string>>>()

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = create()
  map.set(key, value)
  return value
}

export interface WordMatch<Kind> {
  kind: Kind
  start: number
  end: number
}

/**
 * Finds the words of several kinds in folded text. Of two matches at the same offset the longer one counts, and of equal
 * words the kind listed first. The words of a language are one alternation of literals, which V8 compiles into a trie: the
 * time does not grow with their number.
 */
export function wordFinder<Kind extends WordKind>(
  kinds: Kind[],
): (text: string, languages: Vocabulary[]) => WordMatch<Kind>[] {
  const finders = new Map<Vocabulary, Finder<Kind>>()
  return (text, languages) => {
    const lower = text.toLowerCase()
    const found: WordMatch<Kind>[] = []
    for (const language of languages) {
      const finder = getOrAdd(finders, language, () => finderOf(kinds, language))
      findIn(finder, text, lower, found)
    }
    return withoutOverlaps(found, kinds)
  }
}

interface Finder<Kind> {
  entries: KindEntry<Kind>[]
  any: RegExp
  /** By word: it and the others that may start where it does, the longest first. */
  sameStart: Map<string, KindEntry<Kind>[]>
}

type KindEntry<Kind> = Entry & { kind: Kind }

function finderOf<Kind extends WordKind>(kinds: Kind[], language: Vocabulary): Finder<Kind> {
  const entries = new Map<string, KindEntry<Kind>>()
  for (const kind of kinds) {
    for (const entry of readEntries(language[kind])) mergeEntry(entries, { ...entry, kind })
  }
  const all = [...entries.values()].sort((a, b) => b.word.length - a.word.length)
  const anywhere = all.filter(({ word, suffix }) => suffix || UNSPACED.test(word))
  const apart = all.filter((entry) => !anywhere.includes(entry))
  const alternatives = [
    ...(apart.length > 0 ? [`(?<!${SPACED})(?:${alternation(apart)})`] : []),
    ...(anywhere.length > 0 ? [alternation(anywhere)] : []),
  ]
  const any = new RegExp(alternatives.join('|') || '(?!)', 'g')
  return { entries: all, any, sameStart: new Map() }
}

function findIn<Kind>(
  finder: Finder<Kind>,
  text: string,
  lower: string,
  found: WordMatch<Kind>[],
): void {
  const { any } = finder
  // Not matchAll: it clones the expression, which takes long to compile.
  any.lastIndex = 0
  for (let match = any.exec(lower); match; match = any.exec(lower)) {
    const { 0: literal, index: start } = match
    const whole = sameStartOf(finder, literal).find(
      (entry) =>
        lower.startsWith(entry.word, start) &&
        isWholeWord(entry, text, start, start + entry.word.length),
    )
    // Another word may start inside a rejected match.
    any.lastIndex = whole ? endOf(whole, lower, start) : start + 1
    if (whole) found.push({ kind: whole.kind, start, end: any.lastIndex })
  }
}

/** A word that may be continued ends where the word of the text ends. */
function endOf({ word, prefix }: Entry, lower: string, start: number): number {
  const end = start + word.length
  if (!prefix) return end
  return end + (CONTINUATION.exec(lower.slice(end, end + MAX_CONTINUATION))?.[0].length ?? 0)
}

const MAX_CONTINUATION = 30

/** The literal "verifica" matches "verificare", but only the word `verif*` ends where that ends. */
function sameStartOf<Kind>(
  { entries, sameStart }: Finder<Kind>,
  literal: string,
): KindEntry<Kind>[] {
  return getOrAdd(sameStart, literal, () =>
    entries.filter(({ word }) => word.startsWith(literal) || literal.startsWith(word)),
  )
}

function withoutOverlaps<Kind>(found: WordMatch<Kind>[], kinds: Kind[]): WordMatch<Kind>[] {
  found.sort(
    (a, b) => a.start - b.start || b.end - a.end || kinds.indexOf(a.kind) - kinds.indexOf(b.kind),
  )
  let end = 0
  return found.filter((match) => {
    if (match.start < end) return false
    end = match.end
    return true
  })
}

interface Entry {
  word: string
  /** suffix: may be the end of a longer word; prefix: may be continued. */
  suffix: boolean
  prefix: boolean
  /** Matches only in capitals. */
  capitals: boolean
}

const LETTER = /[\p{L}\p{M}\p{N}]/u
/** Scripts without blanks between words, or with particles attached to them. */
export const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hangul}\p{sc=Thai}ー]/u
/** Fast check that skips most matches inside words; isWholeWord decides. */
const SPACED =
  '[0-9a-z\\u03b1-\\u03c9\\u0430-\\u045f\\u05d0-\\u05ea\\u0620-\\u064a\\u066e-\\u06d3\\u0900-\\u0963\\u0980-\\u09e3\\u0b80-\\u0bcd]'
const CONTINUATION = /^[[\p{L}\p{M}]--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hangul}\p{sc=Thai}]]*/v
const CAPITALS = /^[A-Z]{2,}$/

function alternation(entries: Entry[]): string {
  return entries.map(({ word }) => RegExp.escape(word)).join('|')
}

/** Reads words separated by commas. */
export function readEntries(words: string): Entry[] {
  const all = fold(words).split(',')
  // Vietnamese is often written without marks.
  const bare = all.filter((written) => written.includes('mã'))
  return [...all, ...bare.map((written) => written.replace('mã', 'ma'))]
    .map((written) => written.trim())
    .filter(Boolean)
    .map((text) => ({
      word: text.replaceAll('*', '').toLowerCase(),
      suffix: text.startsWith('*'),
      prefix: text.endsWith('*'),
      capitals: CAPITALS.test(text),
    }))
}

function mergeEntry<Of extends Entry>(entries: Map<string, Of>, entry: Of): void {
  const known = entries.get(entry.word)
  if (!known) {
    entries.set(entry.word, entry)
    return
  }
  known.suffix ||= entry.suffix
  known.prefix ||= entry.prefix
  known.capitals &&= entry.capitals
}

function isWholeWord(entry: Entry, text: string, start: number, end: number): boolean {
  if (entry.capitals && text.slice(start, end) !== entry.word.toUpperCase()) return false
  if (!entry.suffix && isSameWord(text[start - 1], entry.word[0])) return false
  return entry.prefix || !isSameWord(text[end], entry.word.at(-1))
}

/** Whether two adjacent characters belong to one word. */
function isSameWord(outside: string | undefined, inside: string | undefined): boolean {
  if (outside === undefined || inside === undefined) return false
  return isLetter(outside) && isLetter(inside)
}

function isLetter(letter: string): boolean {
  return LETTER.test(letter) && !UNSPACED.test(letter)
}
