import type { Candidate } from './candidates.ts'
import { type WordMatch, wordFinder, wordsOf } from './word-finder.ts'

/** A folded text and all that was found in it, in order. */
export interface ScannedText {
  text: string
  labels: Label[]
  /** Where each number begins, of whatever kind. */
  starts: number[]
}

/** Where a candidate stands, and what the words around it say. */
export interface CandidateContext {
  start: number
  end: number
  lineStart: number
  lineEnd: number
  /** Nothing else is on its line. */
  aloneOnLine: boolean
  /** It is the first thing on its line. */
  startsLine: boolean
  /** A colon or a word like "is" stands right before it. */
  afterLeadIn: boolean
}

/** A line of the text, or the end of a long one. */
export interface Line {
  start: number
  end: number
}

const MAX_LINE = 400
const MAX_ABOVE = 200
const MAX_PASSED = 30
const IS_WORDS = wordsOf('is')
const FILLER_WORDS = new Set(
  [...IS_WORDS, ...wordsOf('particle')].flatMap((words) => words.split(' ')),
)
const findPurposes = wordFinder(['purpose'])
const WORDLESS = /^[^\p{L}\p{N}]*$/u
const COLON = /[:：=>→-]/
/** Chinese and Japanese have no blank before it. */
const LAST_LETTER = /[是为為は]$/
const FIRST_LETTER = /^[^\p{L}\p{N}]*[是为為がは]/u
const SPACED_LETTERS = /^[\p{L}--[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]]*/v
const FIRST_WORD = /^[^\p{L}\p{N}]*([\p{L}]+)/u

export function contextOf({ start, end }: Candidate, text: string): CandidateContext {
  const lineStart = lineStartBefore(text, start)
  const before = text.slice(lineStart, start)
  const after = text.slice(end, end + MAX_LINE).split('\n', 1)[0] ?? ''
  const lineEnd = end + after.length
  const leads = WORDLESS.test(before)
  const alone = leads && WORDLESS.test(after)
  return {
    start,
    end,
    lineStart,
    lineEnd,
    aloneOnLine: alone,
    startsLine: leads,
    afterLeadIn: endsWithLeadIn(before),
  }
}

/** A line that is too long begins nearer: what is said farther off is not said of this. */
function lineStartBefore(text: string, at: number): number {
  const from = Math.max(0, at - MAX_LINE)
  return from + text.slice(from, at).lastIndexOf('\n') + 1
}

/** Whether a text ends so that something must follow. */
export function endsWithLeadIn(text: string): boolean {
  const tail = text.slice(-40)
  let end = tail.length
  while (end > 0 && WORDLESS.test(tail[end - 1] ?? '')) end -= 1
  if (COLON.test(tail.slice(end))) return true
  if (end === 0 || /[0-9]/.test(tail[end - 1] ?? '')) return false
  const words = lettersOf(tail.slice(0, end)).split(' ')
  const last = words.at(-1) ?? ''
  return IS_WORDS.has(last) || LAST_LETTER.test(last) || IS_WORDS.has(words.slice(-2).join(' '))
}

/** Whether nothing but points, blanks and words like "is" stand between a name and its number. */
export function isDirect(between: string): boolean {
  if (between.length > 40) return false
  return WORDLESS.test(between) || IS_WORDS.has(lettersOf(between))
}

/** The same, where it is also said what the code is for: "code to sign in", "código de verificación". */
export function isDescribed(between: string): boolean {
  if (between.length > 60) return false
  const purposes = findPurposes(between)
  const rest = purposes.reduceRight(
    (text, { start, end }) => text.slice(0, start) + text.slice(wordEnd(text, end)),
    between,
  )
  const words = lettersOf(rest)
  return words === '' || words.split(' ').every((word) => FILLER_WORDS.has(word))
}

export function startsWithIs(text: string): boolean {
  return (
    FIRST_LETTER.test(text) ||
    IS_WORDS.has(FIRST_WORD.exec(text.slice(0, 30).toLowerCase())?.[1] ?? '')
  )
}

/** The nearest lines above that have a word in them, the end of each. */
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

/** The labels that lie between two places, in order. */
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

/** Which of so many that stand in order is the first at or behind a place. */
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

/** Where the word ends of which a star took only the beginning. */
function wordEnd(text: string, from: number): number {
  return from + (SPACED_LETTERS.exec(text.slice(from, from + 30))?.[0].length ?? 0)
}

function lettersOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}]+/gu, ' ')
    .trim()
}

/** A word that says what the next number is. */
export type Label = WordMatch<'code' | 'secret' | 'sale' | 'other' | 'number' | 'type'>

/**
 * The labels of a folded text, in order. "Promo code" and "código de reserva" are one label each, and none of ours;
 * so is "code number", and it is.
 */
export function findLabels(text: string): Label[] {
  const labels: Label[] = []
  for (const found of findLabelWords(text)) {
    const next = isCompound(found, text) ? { ...found, kind: 'other' as const } : found
    const last = labels.at(-1)
    const joined = last && joinLabels(last, next, text)
    if (joined) labels[labels.length - 1] = joined
    else labels.push(next)
  }
  return labels
}

const findLabelWords = wordFinder(['code', 'sale', 'other', 'number', 'secret', 'type'])
const MAX_LABEL_GAP = 16
const SEPARATOR = /^[ '’-]*$/
const OF = /^(?: (?:de|de la|de l|de los|del|du|des|d|do|da|dos|das|of|of the|la) ?)?[ '’-]*$/
const CONFIRMATION = /^ (?:confirmation |reference )?$/

function joinLabels(last: Label, next: Label, text: string): Label | undefined {
  if (next.start - last.end > MAX_LABEL_GAP) return undefined
  const between = text.slice(last.end, next.start).toLowerCase()
  const { start } = last
  const { end } = next
  if (last.kind === 'code') {
    if (next.kind === 'code' && SEPARATOR.test(between)) return { kind: 'code', start, end }
    if (next.kind === 'number' && SEPARATOR.test(between)) return { kind: 'code', start, end }
    if (isOther(next) && OF.test(between)) return { kind: next.kind, start, end }
  }
  const another = next.kind === 'code' && isOther(last)
  if (another && (SEPARATOR.test(between) || CONFIRMATION.test(between))) {
    return { kind: last.kind, start, end }
  }
  return undefined
}

/** Japanese and Chinese put what a code is of before it; those of ours are listed. */
function isCompound({ start, end }: Label, text: string): boolean {
  return COMPOUND.test(text.slice(start, end)) && COMPOUND_BEFORE.test(text[start - 1] ?? '')
}

const COMPOUND = /^(?:コード|代码|代碼)[：:]?$/
const COMPOUND_BEFORE = /[^\P{L}のはがを的下]/u

function isOther({ kind }: Label): boolean {
  return kind === 'other' || kind === 'sale'
}
