import { UNSPACED, wordFinder } from './word-finder.ts'

/** A possible code and its position in the folded text. */
export interface Candidate {
  /** As a person would type it. */
  value: string
  kind: 'digits' | 'letters_and_digits'
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
export function findCandidates(text: string): { candidates: Candidate[]; starts: number[] } {
  const tokens = readTokens(text.replace(LINK, (link) => '|'.repeat(link.length)))
  const starts = tokens.filter(({ word }) => DIGIT.test(word)).map(({ start }) => start)
  const candidates: Candidate[] = []
  for (let at = 0; at < tokens.length && candidates.length < MAX_CANDIDATES; ) {
    const run = runFrom(tokens, at, text)
    candidates.push(...fromRun(run, text))
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
const YEARS = /^(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}$/
/** The number is partly masked, signed, a price or part of a path. */
const EXCLUDED_BEFORE =
  /[·./\\&~@+]$|(?:[#\p{Sc}]|s\/|(?:^|[^\p{L}])(?:usd|eur|gbp|inr|rs|chf|rub|vnd|jpy|cny|rmb|aud|cad|mxn|ars|aed|sar|egp)\.?) ?$/iu
const EXCLUDED_AFTER = /^ ?(?:[%°]|\p{Sc})|^[/\\=]/u
const LETTER = /[\p{L}\p{M}]/u
const LONGEST_UNIT = 16
const findUnits = wordFinder(['unit'])

function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  for (const { 0: word, index: start } of text.matchAll(TOKEN)) {
    if (tokens.length >= MAX_TOKENS) break
    if (DIGIT.test(word) || CAPITALS.test(word)) {
      tokens.push({ word, start, end: start + word.length })
    }
  }
  return tokens
}

const MAX_TOKENS = 5_000
const CAPITALS = /^[A-Z]+(?:-[A-Z]+)*$/
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
  if (between !== ' ') return false
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
      return unlessExcluded({ ...whole, ...valueAndKind(value), grouped: true }, text)
    // Three or more groups are a phone number, an account or an amount; two may be a code and another number.
    if (run.length > 2 && DIGIT_GROUPS.test(value)) return []
  }
  return run.flatMap((token) => fromToken(token, text))
}

function isGrouped(run: Token[], value: string, text: string): boolean {
  const sizes = new Set(run.map(({ word }) => word.length))
  if (sizes.size !== 1 || value.length < MIN_LENGTH || value.length > MAX_DIGITS) return false
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

function fromToken({ word, start, end }: Token, text: string): Candidate[] {
  if (DIGIT_GROUPS.test(word)) {
    const groups = word.split(/-/)
    const value = groups.join('')
    if (value.length < MIN_LENGTH || value.length > MAX_DIGITS || YEARS.test(word)) return []
    if (groups.length > 1 && !isCodeGrouping(groups)) return []
    return unlessExcluded({ start, end, ...valueAndKind(value), grouped: groups.length > 1 }, text)
  }
  const length = word.replace(/-/g, '').length
  if (!MIXED.test(word) || MEASUREMENT.test(word)) return []
  if (length < MIN_LENGTH || length > MAX_LENGTH) return []
  return unlessExcluded({ start, end, ...valueAndKind(word), grouped: word.includes('-') }, text)
}

/** Two groups, or more of equal length; a date has three of different lengths. */
function isCodeGrouping(groups: string[]): boolean {
  return groups.length === 2 || new Set(groups.map((group) => group.length)).size === 1
}

function valueAndKind(value: string): Pick<Candidate, 'value' | 'kind'> {
  return { value, kind: /^[0-9]+$/.test(value) ? 'digits' : 'letters_and_digits' }
}

/** Empty if the surrounding text shows that it is something else. */
function unlessExcluded(candidate: Candidate, text: string): Candidate[] {
  const before = text.slice(Math.max(0, candidate.start - 8), candidate.start)
  const after = text.slice(candidate.end, candidate.end + LONGEST_UNIT)
  if (isAdjoiningLetter(before.at(-1)) || isAdjoiningLetter(after[0])) return []
  if (EXCLUDED_BEFORE.test(before) || EXCLUDED_AFTER.test(after)) return []
  // A star before a number masks the rest of a card number; stars on both sides are emphasis.
  if (before.endsWith('*') && !after.startsWith('*')) return []
  return candidate.kind === 'digits' && isFollowedByUnit(after) ? [] : [candidate]
}

function isAdjoiningLetter(neighbour: string | undefined): boolean {
  return neighbour !== undefined && LETTER.test(neighbour) && !UNSPACED.test(neighbour)
}

/** Whether the number is followed by a unit. */
function isFollowedByUnit(after: string): boolean {
  const start = findUnits(after)[0]?.start
  return start !== undefined && after.slice(0, start).trim() === '' && start <= 1
}
