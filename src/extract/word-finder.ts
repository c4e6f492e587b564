import { fold } from './fold.ts'
import { arabic, chinese, japanese, vietnamese } from './vocabulary/asian.ts'
import { english, french, german, portuguese, russian, spanish } from './vocabulary/european.ts'
import type { Vocabulary } from './vocabulary/vocabulary.ts'

const LANGUAGES: Vocabulary[] = [
  ...[english, spanish, portuguese, french, german],
  ...[russian, chinese, japanese, arabic, vietnamese],
]

/** The words of one kind in all languages, folded and without wildcards. */
export function wordsOf(kind: keyof Vocabulary): Set<string> {
  return new Set(entriesOf(kind).map(({ word }) => word))
}

export interface WordMatch<Kind> {
  kind: Kind
  start: number
  end: number
}

/**
 * Finds the words of several kinds in folded text. Of two matches at the same offset the longer one counts, and of equal
 * words the kind listed first. The list is one alternation of literals, which V8 compiles into a trie: the time does not
 * grow with their number.
 */
export function wordFinder<Kind extends keyof Vocabulary>(
  kinds: Kind[],
): (text: string) => WordMatch<Kind>[] {
  const entries = new Map<string, Entry & { kind: Kind }>()
  for (const kind of kinds) {
    for (const entry of entriesOf(kind)) mergeEntry(entries, { ...entry, kind })
  }
  const all = [...entries.values()].sort((a, b) => b.word.length - a.word.length)
  const anywhere = all.filter(({ word, suffix }) => suffix || UNSPACED.test(word))
  const apart = all.filter((entry) => !anywhere.includes(entry))
  const any = new RegExp(`(?<!${SPACED})(?:${alternation(apart)})|${alternation(anywhere)}`, 'g')
  return (text) => {
    const found: WordMatch<Kind>[] = []
    const lower = text.toLowerCase()
    // Not matchAll: it clones the expression, which takes long to compile.
    any.lastIndex = 0
    for (let match = any.exec(lower); match; match = any.exec(lower)) {
      const { 0: word, index: start } = match
      const entry = entries.get(word)
      const end = start + word.length
      if (entry && isWholeWord(entry, text, start, end))
        found.push({ kind: entry.kind, start, end })
      // Another word may start inside a rejected match.
      else any.lastIndex = start + 1
    }
    return found
  }
}

interface Entry {
  word: string
  /** suffix: may be the end of a longer word; prefix: may be continued. */
  suffix: boolean
  prefix: boolean
  /** Matches only in capitals. */
  capitals: boolean
}

const LETTER = /[\p{L}\p{N}]/u
/** Scripts without blanks between words. */
export const UNSPACED = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}ー]/u
/** Fast check that skips most matches inside words; isWholeWord decides. */
const SPACED = '[0-9a-z\\u0430-\\u044f\\u0620-\\u064a]'
const MA_AND_MORE = /mã | mã/
const CAPITALS = /^[A-Z]{2,}$/

function alternation(entries: Entry[]): string {
  return entries.map(({ word }) => RegExp.escape(word)).join('|')
}

function entriesOf(kind: keyof Vocabulary): Entry[] {
  const all = LANGUAGES.flatMap((language) => language[kind].split('|'))
  // Vietnamese is often written without marks; "ma" alone is too ambiguous, so only phrases are added.
  const bare = all
    .filter((written) => MA_AND_MORE.test(written))
    .map((written) => written.replace('mã', 'ma'))
  return [...all, ...bare].map((written) => {
    const text = written.trim().replace(/\s+/g, ' ')
    const word = fold(text.replaceAll('*', '')).toLowerCase()
    return {
      word,
      suffix: text.startsWith('*'),
      prefix: text.endsWith('*'),
      capitals: CAPITALS.test(text),
    }
  })
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
