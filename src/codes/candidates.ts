import type { Code } from '../shared/mail.ts'
import { withoutPrefix } from './sender-names.ts'
import type { Vocabulary } from './vocabulary.ts'
import { isProse, WORDS, wordLines } from './word-codes.ts'
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
  /** Amounts, accounts and phone numbers have this form more often than codes. */
  isRare: boolean
}

export interface Candidates {
  candidates: Candidate[]
  /** Offsets of the numbers, candidates or not, that a label may refer to: it refers to the first one after it. */
  starts: number[]
  /** How many tokens contain a digit. */
  numbers: number
}

/**
 * Possible codes in folded text. Dates, times, prices, URLs, long numbers, names of the sender and the like are not
 * candidates. Blanks, dots and hyphens between groups of digits are removed; a code with letters keeps them, because a site
 * that prints `7F3K-9QXZ` usually accepts the hyphen, and some require it.
 */
export function findCandidates(
  text: string,
  languages: Vocabulary[],
  senderNames: Set<string>,
): Candidates {
  const tokens = readTokens(text, senderNames)
  const numbers = tokens.filter(({ word }) => DIGIT.test(word))
  const starts = numbers.filter(mayBeNamed).map(({ start }) => start)
  const candidates: Candidate[] = wordLines(text, languages).map((line) => ({
    ...line,
    ...typed(line.value),
    grouped: true,
  }))
  for (let at = 0; at < tokens.length && candidates.length < MAX_CANDIDATES; ) {
    const run = runFrom(tokens, at, text)
    for (const candidate of fromRun(run, text, senderNames)) {
      if (!isExcluded(candidate, text, languages)) candidates.push(candidate)
    }
    at += run.length
  }
  return { candidates, starts, numbers: numbers.length }
}

/** Neither short, as in "10 minutes", nor a round amount. */
function mayBeNamed({ word }: Token): boolean {
  return word.length > 2 && !ROUND.test(word)
}

interface Token {
  word: string
  start: number
  end: number
}

const MAX_CANDIDATES = 300
const MIN_LENGTH = 4
const MAX_DIGITS = 9
const MAX_LENGTH = 12
const DIGIT = /[0-9]/
/** 4500 is an amount rather than a code. */
export const ROUND = /^[1-9][0-9]{1,2}00$|000$/
/** Numbers in URLs are not codes. */
const LINK = /\b(?:https?:\/\/|www\.)[^\s<>"]+/gi
/**
 * Joined without blanks it is one token: a date, a time, an amount, an address. Not where words are joined, too, and a clause
 * ends: 482913,5分钟内有效.
 */
const TOKEN =
  /[0-9A-Za-z]+(?:(?:[-_+@=&]|(?<=[0-9])(?:[.,/']|(?<![0-9]{3}):)(?=[0-9])(?!(?<=[0-9]{4},|[0-9]{6}\.)[0-9]{1,2}[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]))[0-9A-Za-z]+)*/g
const DIGIT_GROUPS = /^[0-9]+(?:-[0-9]+)*$/
const DOTTED = /^[0-9]{2,4}(?:\.[0-9]{2,4}){1,2}$/
const SHORT_DATE = /^[0-3][0-9]\.[0-3][0-9]\./
const MIXED = /^[0-9A-Za-z]+(?:-[0-9A-Za-z]+){0,3}$/
/** 11h20, 250ml, 1080p, 0x80070005. */
const MEASUREMENT = /^[0-9]+[a-z]{1,3}(?:[0-9]{2})?$|^0x/
const YEARS = /^(?:19|20)[0-9]{2}-?(?:19|20)[0-9]{2}$/
/** The number is partly masked, signed, a price or part of a path. */
const EXCLUDED_BEFORE =
  /[·./\\&~@+]$|(?:[#\p{Sc}]|s\/|(?:^|[^\p{L}])(?:usd|eur|gbp|inr|rs|chf|rub|vnd|jpy|cny|rmb|aud|cad|mxn|ars|aed|sar|egp|pln|czk|huf|ron|bgn|uah|try|tl|ils|nis|thb|idr|rp|myr|rm|sek|dkk|nok|kr|krw|bdt|irr|php|rsd|tk)\.?) ?$/iu
const EXCLUDED_AFTER = /^ ?(?:[%°]|\p{Sc})|^[/\\=#]/u
const LETTER = /[\p{L}\p{M}]/u
const HANGUL = /\p{sc=Hangul}/u
const LONGEST_UNIT = 16
const findUnits = wordFinder(['unit'])

function readTokens(text: string, senderNames: Set<string>): Token[] {
  const tokens: Token[] = []
  const withoutLinks = text.replace(LINK, (link) => '|'.repeat(link.length))
  for (const { 0: word, index: start } of withoutLinks.matchAll(TOKEN)) {
    if (tokens.length >= MAX_TOKENS) break
    if (!SHAPES.some((shape) => shape.test(word))) continue
    if (senderNames.has(word.toLowerCase())) continue
    tokens.push({ word, start, end: start + word.length })
  }
  return tokens
}

const MAX_TOKENS = 5_000
const CAPITALS = /^[A-Z]+(?:-[A-Z]+)*$/
const LOWER_GROUPS = /^[a-z]{3,5}-[a-z]{3,5}$/
const SHAPES = [DIGIT, CAPITALS, LOWER_GROUPS, WORDS]
const GROUP_SEPARATOR = /^(?: | ?· ?| - )$/
const BETWEEN_CELLS = /^\s*(?:[-·*]\s*)?$/
const LONGEST_BETWEEN_CELLS = 40

/** The tokens from here on that may form one code: digit groups separated by a blank, or single characters. */
function runFrom(tokens: Token[], from: number, text: string): Token[] {
  const run = tokens.slice(from, from + 1)
  const isAcrossLines = (between: string) => between.includes('\n')
  let first: string | undefined
  for (let at = from + 1; at < tokens.length && run.length < MAX_RUN; at += 1) {
    const last = run.at(-1)
    const next = tokens[at]
    const between = text.slice(last?.end, next?.start)
    if (!last || !next || !follows(last, next, between)) break
    first ??= between
    // Not "4 8 2 9", and "5 minutes" on the next line.
    if (isAcrossLines(between) !== isAcrossLines(first)) break
    if (isAcrossLines(between) && !isAlone([next], text)) break
    run.push(next)
  }
  return run
}

const MAX_RUN = 40
/** Groups with letters form one code only if they are alone on the line. */
const CAPITAL_GROUP = /^(?=[0-9]*[A-Z])[0-9A-Z]{3,5}$/

function follows(last: Token, next: Token, between: string): boolean {
  if (between.length > LONGEST_BETWEEN_CELLS || !BETWEEN_CELLS.test(between)) return false
  if (last.word.length === 1 && next.word.length === 1) return true
  const pieces = [last.word, next.word]
  // Alone, each is too short to be a code.
  if (between.includes('\t')) return pieces.every((piece) => /^[0-9]{3}$/.test(piece))
  return (
    GROUP_SEPARATOR.test(between) &&
    [DIGIT_GROUPS, CAPITAL_GROUP].some((group) => pieces.every((piece) => group.test(piece)))
  )
}

function fromRun(run: Token[], text: string, senderNames: Set<string>): Candidate[] {
  const first = run[0]
  const last = run.at(-1)
  if (!first || !last) return []
  const whole = { start: first.start, end: last.end }
  if (run.length > 1) {
    const value = run.map(({ word }) => word.replace(/-/g, '')).join('')
    if (isGrouped(run, value, text)) return [{ ...whole, ...typed(value), grouped: true }]
    // Three or more groups are a phone number, an account or an amount; two may be a code and another number.
    if (run.length > 2 && DIGIT_GROUPS.test(value)) return []
  }
  return run.flatMap(({ word, start, end }) => {
    const around = text.slice(Math.max(0, start - NAME_RANGE), end + NAME_RANGE)
    return fromToken({ word: withoutPrefix(word, senderNames, around), start, end })
  })
}

const NAME_RANGE = 80

function isGrouped(run: Token[], value: string, text: string): boolean {
  const sizes = new Set(run.map(({ word }) => word.length))
  if (sizes.size !== 1 || value.length < MIN_LENGTH || value.length > MAX_DIGITS) return false
  if (YEARS.test(value)) return false
  const size = run[0]?.word.length ?? 0
  if (!DIGIT_GROUPS.test(value) && (value.length === MAX_DIGITS || !isAlone(run, text)))
    return false
  return size === 1 ? DIGIT.test(value) && !isCounted(value) : size > 2 || run.length > 2
}

/** Pages, steps or the marks of a survey. */
function isCounted(value: string): boolean {
  return '0123456789'.includes(value) || '9876543210'.includes(value)
}

function isAlone(run: Token[], text: string): boolean {
  const start = run[0]?.start ?? 0
  const end = run.at(-1)?.end ?? 0
  const before = text.slice(Math.max(0, start - LONGEST_BETWEEN_CELLS), start)
  const after = text.slice(end, end + LONGEST_BETWEEN_CELLS)
  return /(?:^|\n)[ \t]*$/.test(before) && /^[ \t]*(?:\n|$)/.test(after)
}

function fromToken({ word, start, end }: Token): Candidate[] {
  const isDotted = DOTTED.test(word) && !SHORT_DATE.test(word)
  if (DIGIT_GROUPS.test(word) || isDotted) {
    const groups = word.split(/[-.]/)
    const value = groups.join('')
    if (value.length < MIN_LENGTH || value.length > MAX_DIGITS || YEARS.test(value)) return []
    if (groups.length > 1 && !isCodeGrouping(groups, isDotted)) return []
    const code = typed(value)
    return [{ start, end, ...code, grouped: groups.length > 1, isRare: isDotted || code.isRare }]
  }
  if (WORDS.test(word)) return [{ start, end, ...typed(word), grouped: true }]
  const length = word.replace(/-/g, '').length
  if (!MIXED.test(word) || MEASUREMENT.test(word)) return []
  if (length < MIN_LENGTH || length > MAX_LENGTH) return []
  return [{ start, end, ...typed(word), grouped: word.includes('-') }]
}

function typed(value: string): { value: string; kind: Code['kind']; isRare: boolean } {
  return {
    value,
    kind: kindOf(value),
    isRare: value.length === MAX_DIGITS && DIGIT_GROUPS.test(value),
  }
}

/** Two groups, or more of equal length; a date has three of different lengths, and a price two with dots. */
function isCodeGrouping(groups: string[], isDotted: boolean): boolean {
  const isEqual = new Set(groups.map((group) => group.length)).size === 1
  if (!isDotted) return groups.length === 2 || isEqual
  return isEqual && (groups.length > 2 || groups[0]?.length !== 2)
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
  if (candidate.kind === 'words') return isProse(candidate.value, languages)
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
