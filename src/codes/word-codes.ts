import type { Vocabulary } from './vocabulary.ts'
import { wordsOf } from './word-finder.ts'

/** smooth-otter-light-cabin, smooth-otter or "smooth otter light"; "state-of-the-art" has a short word. */
export const WORDS =
  /^[A-Za-z]{3,12}(?:-[A-Za-z]{3,12}){2,7}(?:-[0-9]{1,4})?$|^(?:(?=[a-z]*[aeiouy])[a-z]{3,12}(?:-|$)){2}$|^[a-z]{3,12}(?: [a-z]{3,12}){2,3}$/
/** Alone on a line, or after a colon at the end of one. */
const WORD_LINE = /(?:^|\n|: )[ \t]*([a-z]{3,12}(?: [a-z]{3,12}){2,3})(?=[ \t]*(?:\n|$))/g
const MAX_LINES = 50

interface WordLine {
  value: string
  start: number
  end: number
}

/** Words with blanks that are not a sentence: smooth otter light. */
export function wordLines(text: string, languages: Vocabulary[]): WordLine[] {
  const found: WordLine[] = []
  for (const { 0: line, 1: value = '', index } of text.matchAll(WORD_LINE).take(MAX_LINES)) {
    const end = index + line.length
    if (!isProse(value, languages)) found.push({ value, start: end - value.length, end })
  }
  return found
}

const IN_PROSE = ['common', 'is', 'particle', 'here'] as const

/** Whether some of the words are those that make up sentences: "not-for-profit", "see our help page". */
export function isProse(words: string, languages: Vocabulary[]): boolean {
  const isCommon = (word: string) =>
    languages.some((language) => IN_PROSE.some((kind) => wordsOf(kind, language).has(word)))
  return words.toLowerCase().split(/[ -]/).some(isCommon)
}
