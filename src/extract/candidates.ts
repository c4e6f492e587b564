import type { Code } from '../core/message.ts'
import type { Vocabulary } from './vocabulary/vocabulary.ts'
import { UNSPACED, wordFinder } from './word-finder.ts'

/** A possible code and its position in the folded text. */
export interface Candidate {
  /** As a person would type it. */
  value: string
  kind: Code['kind']
  start: number
  end: number
  /** Written in groups of equal length, or character by character. */
  grouped: boolean
}

/**
 * Possible codes in folded text. Dates, times, prices, URLs, long numbers and the like are not candidates. Blanks and
 * hyphens between groups of digits are removed; a code with letters keeps them, because a site that prints `7F3K-9QXZ`
 * usually accepts the hyphen, and some require it. `starts` are the offsets of all tokens with a digit, candidates or not: a
 * label refers to the first one after it.
 */
export function findCandidates(
  text: string,
  languages: Vocabulary[],
): { candidates: Candidate[]; starts: number[] } {
  const tokens = readTokens(text.replace(LINK, (link) => '|'.repeat(link.length)))
  const starts = tokens.filter(({ word }) => DIGIT.test(word)).map(({ start }) => start)
  const candidates: Candidate[] = []
  for (let at = 0; at < tokens.length && candidates.length < MAX_CANDIDATES; ) {
    const run = runFrom(tokens, at, text)
    for (const candidate of fromRun(run, text)) {
      if (!isExcluded(candidate, text, languages)) candidates.push(candidate)
    }
    at += run.length
  }
  return { candidates, starts }
}

interface Token {
  word: string
  start: number
  end: number
}

const MAX_CANDIDATES = 300
const MIN_LENGTH = 4
const MAX_DIGITS = 8
const MAX_LENGTH = 12
const DIGIT = /[0-9]/
/** Numbers in URLs are not codes. */
const LINK = /\b(?:https?:\/\/|www\.)[^\s<>"]+/gi
/** Joined without blanks it is one token: a date, a time, an amount, an address. */
const TOKEN = /[0-9A-Za-z]+(?:(?:[-_+@=&]|(?<=[0-9])[.,:/'](?=[0-9]))[0-9A-Za-z]+)*/g
const DIGIT_GROUPS = /^[0-9]+(?:-[0-9]+)*$/
const MIXED = /^[0-9A-Za-z]+(?:-[0-9A-Za-z]+){0,3}$/
/** 11h20, 250ml, 1080p. */
const MEASUREMENT = /^[0-9]+[a-z]{1,3}(?:[0-9]{2})?$/
const YEARS = /^(?:19|20)[0-9]{2}-?(?:19|20)[0-9]{2}$/
/** The number is partly masked, signed, a price or part of a path. */
const EXCLUDED_BEFORE =
  /[·./\\&~@+]$|(?:[#\p{Sc}]|s\/|(?:^|[^\p{L}])(?:usd|eur|gbp|inr|rs|chf|rub|vnd|jpy|cny|rmb|aud|cad|mxn|ars|aed|sar|egp|pln|czk|huf|ron|bgn|uah|try|tl|ils|nis|thb|idr|rp|myr|rm|sek|dkk|nok|kr|krw|bdt|irr|php|rsd|tk)\.?) ?$/iu
const EXCLUDED_AFTER = /^ ?(?:[%°]|\p{Sc})|^[/\\=]/u
const LETTER = /[\p{L}\p{M}]/u
const HANGUL = /\p{sc=Hangul}/u
const LONGEST_UNIT = 16
const findUnits = wordFinder(['unit'])

function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  for (const { 0: word, index: start } of text.matchAll(TOKEN)) {
    if (tokens.length >= MAX_TOKENS) break
    if ([DIGIT, CAPITALS, LOWER_GROUPS, WORDS].some((shape) => shape.test(word))) {
      tokens.push({ word, start, end: start + word.length })
    }
  }
  return tokens
}

const MAX_TOKENS = 5_000
const CAPITALS = /^[A-Z]+(?:-[A-Z]+)*$/
const LOWER_GROUPS = /^[a-z]{3,5}-[a-z]{3,5}$/
/** smooth-otter-light-cabin; words like "not-for-profit" need a label, and "state-of-the-art" has a short one. */
const WORDS = /^[A-Za-z]{3,12}(?:-[A-Za-z]{3,12}){2,7}(?:-[0-9]{1,4})?$/
const GROUP_SEPARATOR = /^(?: | ?· ?| - )$/
const BETWEEN_CELLS = /^[ \t]*(?:[-·*][ \t]*)?$/

/** The tokens from here on that may form one code: digit groups separated by a blank, or single characters. */
function runFrom(tokens: Token[], from: number, text: string): Token[] {
  const run = tokens.slice(from, from + 1)
  for (let at = from + 1; at < tokens.length && run.length < MAX_RUN; at += 1) {
    const last = run.at(-1)
    const next = tokens[at]
    if (!last || !next || !follows(last, next, text.slice(last.end, next.start))) break
    run.push(next)
  }
  return run
}

const MAX_RUN = 40
/** Groups with letters form one code only if they are alone on the line. */
const CAPITAL_GROUP = /^(?=[0-9]*[A-Z])[0-9A-Z]{3,5}$/

function follows(last: Token, next: Token, between: string): boolean {
  if (between.length > 8 || !BETWEEN_CELLS.test(between)) return false
  if (last.word.length === 1 && next.word.length === 1) return true
  if (!GROUP_SEPARATOR.test(between)) return false
  const pieces = [last.word, next.word]
  return (
    pieces.every((piece) => DIGIT_GROUPS.test(piece)) ||
    pieces.every((piece) => CAPITAL_GROUP.test(piece))
  )
}

function fromRun(run: Token[], text: string): Candidate[] {
  const first = run[0]
  const last = run.at(-1)
  if (!first || !last) return []
  const whole = { start: first.start, end: last.end }
  if (run.length > 1) {
    const value = run.map(({ word }) => word.replace(/-/g, '')).join('')
    if (isGrouped(run, value, text))
      return [{ ...whole, value, kind: kindOf(value), grouped: true }]
    // Three or more groups are a phone number, an account or an amount; two may be a code and another number.
    if (run.length > 2 && DIGIT_GROUPS.test(value)) return []
  }
  return run.flatMap(fromToken)
}

function isGrouped(run: Token[], value: string, text: string): boolean {
  const sizes = new Set(run.map(({ word }) => word.length))
  if (sizes.size !== 1 || value.length < MIN_LENGTH || value.length > MAX_DIGITS) return false
  if (YEARS.test(value)) return false
  const size = run[0]?.word.length ?? 0
  if (!DIGIT_GROUPS.test(value) && !isAlone(run, text)) return false
  return size === 1 ? DIGIT.test(value) : size > 2 || run.length > 2
}

function isAlone(run: Token[], text: string): boolean {
  const start = run[0]?.start ?? 0
  const end = run.at(-1)?.end ?? 0
  const before = text.slice(Math.max(0, start - 4), start)
  return /(?:^|\n)[ \t]*$/.test(before) && /^[ \t]*(?:\n|$)/.test(text.slice(end, end + 4))
}

function fromToken({ word, start, end }: Token): Candidate[] {
  if (DIGIT_GROUPS.test(word)) {
    const groups = word.split(/-/)
    const value = groups.join('')
    if (value.length < MIN_LENGTH || value.length > MAX_DIGITS || YEARS.test(word)) return []
    if (groups.length > 1 && !isCodeGrouping(groups)) return []
    return [{ start, end, value, kind: kindOf(value), grouped: groups.length > 1 }]
  }
  if (WORDS.test(word)) return [{ start, end, value: word, kind: 'words', grouped: true }]
  const length = word.replace(/-/g, '').length
  if (!MIXED.test(word) || MEASUREMENT.test(word)) return []
  if (length < MIN_LENGTH || length > MAX_LENGTH) return []
  return [{ start, end, value: word, kind: kindOf(word), grouped: word.includes('-') }]
}

/** Two groups, or more of equal length; a date has three of different lengths. */
function isCodeGrouping(groups: string[]): boolean {
  return groups.length === 2 || new Set(groups.map((group) => group.length)).size === 1
}

export function kindOf(value: string): Code['kind'] {
  if (WORDS.test(value)) return 'words'
  return /^[0-9]+$/.test(value) ? 'digits' : 'letters_and_digits'
}

/** Whether the surrounding text shows that it is something else. */
function isExcluded(candidate: Candidate, text: string, languages: Vocabulary[]): boolean {
  const before = text.slice(Math.max(0, candidate.start - 8), candidate.start)
  const after = text.slice(candidate.end, candidate.end + LONGEST_UNIT)
  if (isAdjoiningLetter(before.at(-1)) || isAdjoiningLetter(after[0])) return true
  if (EXCLUDED_BEFORE.test(before) || EXCLUDED_AFTER.test(after)) return true
  // A star before a number masks the rest of a card number; stars on both sides are emphasis.
  if (before.endsWith('*') && !after.startsWith('*')) return true
  return candidate.kind === 'digits' && isFollowedByUnit(after, languages)
}

function isAdjoiningLetter(neighbour: string | undefined): boolean {
  return neighbour !== undefined && LETTER.test(neighbour) && !UNSPACED.test(neighbour)
}

/** Whether the number is followed by a unit. */
function isFollowedByUnit(after: string, languages: Vocabulary[]): boolean {
  const unit = findUnits(after, languages)[0]
  if (!unit || unit.start > 1 || after.slice(0, unit.start).trim() !== '') return false
  // Korean units are attached; after a blank, other words start with the same syllable.
  return (
    unit.start === 0 ||
    !HANGUL.test(after[unit.end - 1] ?? '') ||
    !LETTER.test(after[unit.end] ?? '')
  )
}
