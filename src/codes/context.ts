import type { Candidate } from './candidates.ts'
import type { Vocabulary, WordKind } from './vocabulary.ts'
import { UNSPACED, type WordMatch, wordFinder, wordsOf } from './word-finder.ts'

/** A folded text with its labels and numbers, in order. */
export interface ScannedText {
  text: string
  languages: Vocabulary[]
  labels: Label[]
  /** Offsets of all numbers. */
  starts: number[]
}

/** Position of a candidate, and what is around it. */
export interface CandidateContext {
  start: number
  end: number
  lineStart: number
  lineEnd: number
  aloneOnLine: boolean
  startsLine: boolean
  /** Directly after a colon or a word like "is". */
  afterLeadIn: boolean
}

/** Offsets of a line, or of the end of a long one. */
export interface Line {
  start: number
  end: number
}

const MAX_LINE = 400
const MAX_ABOVE = 200
const MAX_PASSED = 30
const findFillers = wordFinder(['purpose', 'is', 'particle'])
const WORDLESS = /^[^\p{L}\p{N}]*$/u
/** The sender's name in brackets. */
const TAG = /^\s*[【[][^\]】]{1,30}[\]】]/
const COLON = /[:：=>→-]/
const FIRST_WORD = /^[^\p{L}\p{N}]*([\p{L}\p{M}]+)/u

export function contextOf(
  { start, end }: Candidate,
  { text, languages }: ScannedText,
): CandidateContext {
  const lineStart = lineStartBefore(text, start)
  const before = text.slice(lineStart, start)
  const after = text.slice(end, end + MAX_LINE).split('\n', 1)[0] ?? ''
  const lineEnd = end + after.length
  const startsLine = WORDLESS.test(before.replace(TAG, ''))
  const aloneOnLine = WORDLESS.test(before) && WORDLESS.test(after)
  const afterLeadIn = endsWithLeadIn(before, languages)
  return { start, end, lineStart, lineEnd, aloneOnLine, startsLine, afterLeadIn }
}

/** At most MAX_LINE back: text farther away does not refer to the candidate. */
function lineStartBefore(text: string, at: number): number {
  const from = Math.max(0, at - MAX_LINE)
  return from + text.slice(from, at).lastIndexOf('\n') + 1
}

/** Whether the text ends with a colon or a word like "is". */
export function endsWithLeadIn(text: string, languages: Vocabulary[]): boolean {
  const tail = text.slice(-40)
  let end = tail.length
  while (end > 0 && WORDLESS.test(tail[end - 1] ?? '')) end -= 1
  if (COLON.test(tail.slice(end))) return true
  if (end === 0 || /[0-9]/.test(tail[end - 1] ?? '')) return false
  const words = lettersOf(tail.slice(0, end)).split(' ')
  const last = words.at(-1) ?? ''
  return (
    isWord('is', last, languages) ||
    isWord('is', words.slice(-2).join(' '), languages) ||
    unspacedIs(last.at(-1), languages).some((word) => last.endsWith(word))
  )
}

function isWord(kind: WordKind, word: string, languages: Vocabulary[]): boolean {
  return languages.some((language) => wordsOf(kind, language).has(word))
}

/** The words like "is" that are attached to others, if this letter is of such a script. */
function unspacedIs(letter: string | undefined, languages: Vocabulary[]): string[] {
  if (letter === undefined || !UNSPACED.test(letter)) return []
  const words = languages.flatMap((language) => [...wordsOf('is', language)])
  return words.filter((word) => UNSPACED.test(word))
}

/** Whether only punctuation, blanks and words like "is" separate a label from its number. */
export function isDirect(between: string, languages: Vocabulary[]): boolean {
  if (between.length > 40) return false
  return WORDLESS.test(between) || isWord('is', lettersOf(between), languages)
}

/** The same, with words for the purpose of the code: "code to sign in", "código de verificación". */
export function isDescribed(between: string, languages: Vocabulary[]): boolean {
  if (between.length > 60) return false
  const fillers = findFillers(between, languages)
  const rest = fillers.reduceRight(
    (text, { start, end }) => text.slice(0, start) + text.slice(end),
    between,
  )
  return lettersOf(rest) === ''
}

export function startsWithIs(text: string, languages: Vocabulary[]): boolean {
  const first = FIRST_WORD.exec(text.slice(0, 30).toLowerCase())?.[1] ?? ''
  return (
    isWord('is', first, languages) ||
    unspacedIs(first[0], languages).some((word) => first.startsWith(word))
  )
}

/** The nearest lines above that contain a word, or the end of each. */
export function* linesAbove(text: string, from: number, most: number): Generator<Line> {
  let next = from
  for (let seen = 0, passed = 0; seen < most && passed < MAX_PASSED && next > 0; passed += 1) {
    const end = next - 1
    next = lineStartBefore(text, end)
    const start = Math.max(next, end - MAX_ABOVE)
    if (WORDLESS.test(text.slice(start, end))) continue
    seen += 1
    yield { start, end }
  }
}

/** The nearest line below that contains a word, or its beginning. */
export function lineBelow(text: string, from: number): Line | undefined {
  const below = text.slice(from, from + MAX_LINE)
  const start = below.search(/\n[^\p{L}\p{N}\n]*[\p{L}\p{N}]/u)
  if (start < 0) return undefined
  const end = below.indexOf('\n', start + 1)
  return { start: from + start + 1, end: from + (end < 0 ? below.length : end) }
}

/** The labels between two offsets, in order. */
export function labelsWithin({ labels }: ScannedText, from: number, to: number): Label[] {
  const found: Label[] = []
  const first = firstFrom(from, labels.length, (at) => labels[at]?.start ?? 0)
  for (let at = first; at < labels.length; at += 1) {
    const label = labels[at]
    if (!label || label.end > to) break
    found.push(label)
  }
  return found
}

export function numberWithin({ starts }: ScannedText, from: number, to: number): boolean {
  const first = firstFrom(from, starts.length, (at) => starts[at] ?? 0)
  return (starts[first] ?? Number.POSITIVE_INFINITY) < to
}

/** Binary search: index of the first item at or after the offset. */
function firstFrom(from: number, count: number, startOf: (at: number) => number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (startOf(middle) < from) low = middle + 1
    else high = middle
  }
  return low
}

function lettersOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}]+/gu, ' ')
    .trim()
}

/** A word that says what a nearby number is. */
export type Label = WordMatch<
  'code' | 'secret' | 'sale' | 'other' | 'neutral' | 'number' | 'meeting' | 'type'
>

/**
 * The labels of a folded text, in order. "Promo code" and "código de reserva" are one label each, of another kind than
 * code; "code number" is one label for a code.
 */
export function findLabels(text: string, languages: Vocabulary[], isReceipt: boolean): Label[] {
  const labels: Label[] = []
  const authorization = isReceipt ? 'other' : 'code'
  for (const { kind, start, end } of findLabelWords(text, languages)) {
    const found = { kind: kind === 'authorization' ? authorization : kind, start, end }
    const next = isCompound(found, text) ? { ...found, kind: 'other' as const } : found
    const last = labels.at(-1)
    const joined = last && joinLabels(last, next, text, languages)
    if (joined) labels[labels.length - 1] = joined
    else labels.push(next)
  }
  return labels
}

const findLabelWords = wordFinder([
  'authorization',
  'code',
  'sale',
  'other',
  'neutral',
  'number',
  'meeting',
  'secret',
  'type',
])
const MAX_LABEL_GAP = 16
const SEPARATOR = /^[ '’-]*$/
/** Words for "of" and "for" between a code and what it belongs to, in any of the languages. */
const OF =
  /^(?: (?:de|de la|de l|de los|del|du|des|d|do|da|dos|das|of|of the|la|di|della|dell|dello|dei|delle|za|за|на|της|του|ng|al|a|של) ?)?[ '’-]*$/
/** The same where the code comes last. */
const POSSESSIVE = /^ (?:का|के|की|এর|کا|کی|کے) $/
const CONFIRMATION = /^ (?:confirmation |reference )?$/

function joinLabels(
  last: Label,
  next: Label,
  text: string,
  languages: Vocabulary[],
): Label | undefined {
  if (next.start - last.end > MAX_LABEL_GAP) return undefined
  const between = text.slice(last.end, next.start).toLowerCase()
  const kind = joinedKind(last, next, between, languages)
  return kind && { kind, start: last.start, end: next.end }
}

function joinedKind(
  last: Label,
  next: Label,
  between: string,
  languages: Vocabulary[],
): Label['kind'] | undefined {
  if (last.kind === 'code') return kindAfterCode(next, between, languages)
  // "Enter the number 482913"
  if (last.kind === 'type' && next.kind === 'neutral')
    return isDescribed(between, languages) ? 'type' : undefined
  if (next.kind !== 'code' || !isOther(last)) return undefined
  return BEFORE_CODE.some((words) => words.test(between)) ? last.kind : undefined
}

const BEFORE_CODE = [SEPARATOR, CONFIRMATION, POSSESSIVE]

function kindAfterCode(
  next: Label,
  between: string,
  languages: Vocabulary[],
): Label['kind'] | undefined {
  if (next.kind === 'code' || next.kind === 'neutral')
    return SEPARATOR.test(between) ? 'code' : undefined
  if (isOther(next) && OF.test(between)) return next.kind
  // "code for your discount"
  const isSale = next.kind === 'sale' && /^ [^.:\n]* $/.test(between)
  return isSale && isDescribed(between, languages) ? 'sale' : undefined
}

/** In Japanese and Chinese the qualifier directly precedes the word for code; verification codes are in the vocabulary. */
function isCompound({ start, end }: Label, text: string): boolean {
  return COMPOUND.test(text.slice(start, end)) && COMPOUND_BEFORE.test(text[start - 1] ?? '')
}

const COMPOUND = /^(?:コード|代码|代碼)[：:]?$/
const COMPOUND_BEFORE = /[^\P{L}のはがを的下]/u

function isOther({ kind }: Label): boolean {
  return kind === 'other' || kind === 'sale' || kind === 'meeting'
}
