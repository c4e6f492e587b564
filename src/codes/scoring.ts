import type { Candidate } from './candidates.ts'
import {
  type CandidateContext,
  contextOf,
  endsWithLeadIn,
  isDescribed,
  isDirect,
  type Label,
  type Line,
  labelsWithin,
  lineBelow,
  linesAbove,
  numberWithin,
  type ScannedText,
  startsWithIs,
} from './context.ts'
import { shapePoints } from './shape.ts'

/**
 * Evidence that a candidate is a code: the words before, after and above it, whether it is alone on its line, and its
 * shape. From 4 points on it is more likely a code than not.
 */
export function score(candidate: Candidate, reading: ScannedText): ScoredCandidate {
  const context = contextOf(candidate, reading)
  const after = pointsAfter(context, reading)
  const around = [pointsAbove(context, reading), pointsBelow(context, reading)]
  const named = Math.max(pointsBefore(context, reading), after, ...around)
  // An explicit statement after it ("… is your code") outweighs other words before it.
  const contrary = Math.max(
    pointsAgainst(context, reading, named),
    after >= LABELLED_AFTER ? -1.5 : -10,
  )
  const alone = context.aloneOnLine
  const shape = shapePoints(candidate, { named, alone, isSetOff: isSetOff(context, reading) })
  return { candidate, alone, contrary, points: named + contrary + (alone ? 1.5 : 0) + shape }
}

/** "Code: 482913", and nothing after it. */
function isSetOff({ start, end, lineEnd, aloneOnLine }: CandidateContext, { text }: ScannedText) {
  if (aloneOnLine) return true
  return /: *$/.test(text.slice(start - 4, start)) && text.slice(end, lineEnd).trim() === ''
}

export interface ScoredCandidate {
  candidate: Candidate
  points: number
  /** Points against it, which are included. */
  contrary: number
  /** Alone on its line. */
  alone: boolean
}

export interface ScoredText {
  text: string
  labels: Label[]
  scored: ScoredCandidate[]
  /** How many tokens contain a digit. */
  numbers: number
}

const LABEL_RANGE = 160
const NEAR_RANGE = 40
const TYPED_RANGE = 60
const SENTENCE_END = /[.!?。！？؟।۔](?:\s|$)|[。！？।]/

/** Labels before it on the same line: the last name for a code, or a request to type something. */
function pointsBefore(context: CandidateContext, reading: ScannedText): number {
  const from = Math.max(context.lineStart, context.start - LABEL_RANGE)
  const labels = labelsWithin(reading, from, context.start)
  const code = labels.findLast(isCode)
  const hint = labels.findLast(isHint)
  return Math.max(
    code ? codeLabelPoints(code, context, reading) : 0,
    hint ? hintPoints(hint, context, reading) : 0,
  )
}

function codeLabelPoints(
  label: Label,
  { start, afterLeadIn }: CandidateContext,
  reading: ScannedText,
): number {
  const between = reading.text.slice(label.end, start)
  if (SENTENCE_END.test(between)) return 1
  if (isDirect(between, reading.languages)) return 5
  if (isDescribed(between, reading.languages)) return 4.5
  if (afterLeadIn) return 4
  if (numberWithin(reading, label.end, start)) return 1
  return between.length <= NEAR_RANGE ? 3 : 2
}

function hintPoints(
  label: Label,
  { start, afterLeadIn }: CandidateContext,
  reading: ScannedText,
): number {
  const between = reading.text.slice(label.end, start)
  if (isDirect(between, reading.languages)) return 3.5
  if (SENTENCE_END.test(between) || numberWithin(reading, label.end, start)) return 0
  if (label.kind === 'secret') return afterLeadIn ? 2 : 0
  const mentioned = mentionPoints(reading)
  if (isDescribed(between, reading.languages)) return 3 + mentioned
  return afterLeadIn || between.length <= TYPED_RANGE ? 2.5 + mentioned : 0
}

/** "Enter 482913 in the app. The code is valid for ten minutes." */
function mentionPoints({ labels }: ScannedText): number {
  return labels.some(isCode) ? 1 : 0
}

/** "482913 is your code." */
function pointsAfter(context: CandidateContext, reading: ScannedText): number {
  const { end, lineEnd } = context
  const line = reading.text.slice(end, Math.min(lineEnd, end + 80))
  const sentence = SENTENCE_END.exec(line)?.index ?? line.length
  const labels = labelsWithin(reading, end, end + sentence)
  const label = labels.find(isCode) ?? labels.find(isHint)
  // A label with a colon refers to what follows it.
  if (!label || /^ ?[:：]/.test(reading.text.slice(label.end, label.end + 2))) return 0
  if (numberWithin(reading, end, label.start)) return 0
  const between = reading.text.slice(end, label.start)
  if (label.kind === 'type') return typedAfterPoints(between, reading)
  return statedAfterPoints(label, between, context, reading)
}

function statedAfterPoints(
  label: Label,
  between: string,
  { startsLine }: CandidateContext,
  { languages }: ScannedText,
): number {
  const isStatement = startsWithIs(between, languages) || /^ ?[(（]/.test(between)
  const isAttached = /^['"」』】\])） ]*$/.test(between)
  if (label.kind === 'secret') return isStatement || isAttached ? 3.5 : 0
  if (isStatement) return LABELLED_AFTER
  // "Enter the 482913 code": the usual order in Turkish, Hindi and others.
  if (isAttached) return 4.5
  // "You have received 4500, never tell anyone your code"
  if (!startsLine && CLAUSE.test(between)) return 1
  if (isDescribed(between, languages)) return 4.5
  if (between.length > NEAR_RANGE) return 1
  return startsLine || between.length <= 16 ? 3.5 : 2
}

/** The verb comes last in Turkish, Japanese, Hindi and others. */
function typedAfterPoints(between: string, reading: ScannedText): number {
  if (between.length > NEAR_RANGE) return 0
  return (between.length <= 8 ? 3 : 2) + mentionPoints(reading)
}

const CLAUSE = /[,;，；、،]/
const LABELLED_AFTER = 5
const LINES_ABOVE = 3

/** Labels on the lines above, if it is the first thing on its line. */
function pointsAbove(context: CandidateContext, reading: ScannedText): number {
  if (!context.startsLine) return 0
  const share = context.aloneOnLine ? 1 : 0.4
  let farther = 0
  for (const line of linesAbove(reading.text, context.lineStart, LINES_ABOVE)) {
    const points = lineAbovePoints(line, reading)
    // A request to type something counts only on the line directly above.
    if (points > TYPE_HINT_ABOVE || (points > 0 && farther === 0)) return (points - farther) * share
    farther += 1
  }
  return 0
}

/** "482913", and on the next line "is your code". */
function pointsBelow({ aloneOnLine, lineEnd }: CandidateContext, reading: ScannedText): number {
  const line = aloneOnLine ? lineBelow(reading.text, lineEnd) : undefined
  const [label] = line ? labelsWithin(reading, line.start, line.end) : []
  if (!line || !label || !isCode(label) || numberWithin(reading, line.start, line.end)) return 0
  if (/^ ?[:：]/.test(reading.text.slice(label.end, label.end + 2))) return 0
  const before = reading.text.slice(line.start, label.start)
  if (SENTENCE_END.test(before)) return 0
  if (startsWithIs(before, reading.languages)) return 4.5
  return before.length <= NEAR_RANGE ? 3 : 1
}

const TYPE_HINT_ABOVE = 3

function lineAbovePoints({ start, end }: Line, reading: ScannedText): number {
  const labels = labelsWithin(reading, start, end)
  const leads = endsWithLeadIn(reading.text.slice(start, end), reading.languages)
  const code = labels.findLast(isCode)
  if (code) {
    // A number on the line of the label is probably the code itself.
    const taken = numberWithin(reading, code.end, end) ? 1 : 0
    return 3.5 + (leads ? 1 : 0) - taken
  }
  const typed = labels.findLast(({ kind }) => kind === 'type')
  const last = typed && isDirect(reading.text.slice(typed.end, end), reading.languages)
  return typed && (leads || last) ? TYPE_HINT_ABOVE : 0
}

/** Labels that make it another kind of number. */
function pointsAgainst(context: CandidateContext, reading: ScannedText, named: number): number {
  const { start, lineStart } = context
  const labels = labelsWithin(reading, Math.max(lineStart, start - LABEL_RANGE), start)
  const sale = isSale(context, reading) ? -3 : meetingPoints(context, reading)
  const label = labels.findLast(isOtherNumber)
  if (!label) return sale + headingPoints(context, reading)
  if (numberWithin(reading, label.end, start)) return sale
  const between = reading.text.slice(label.end, start)
  const code = labels.findLast(isCode)
  // "The code for your order is 4821": the number is the code, not the order.
  if (code && context.afterLeadIn && isLabelledCode(code, label, context, reading)) return sale
  // "Enter the number 482913", where the verb comes last.
  if (label.kind === 'neutral' && named >= 2) return sale
  if (isDirect(between, reading.languages)) return sale - 6
  const short = label.end - label.start <= 3
  const nearer = !code || code.end < label.start
  return sale + (nearer && !short && named < 4.5 && between.length <= 25 ? -2.5 : 0)
}

const SALE_RANGE = 80
const PERCENTAGE = /[0-9] ?[%٪％]/

function isSale({ lineStart, end }: CandidateContext, reading: ScannedText): boolean {
  const from = Math.max(0, lineStart - SALE_RANGE)
  const near = labelsWithin(reading, from, end + SALE_RANGE)
  if (near.some(({ kind }) => kind === 'sale')) return true
  return PERCENTAGE.test(reading.text.slice(from, end + SALE_RANGE))
}

const MEETING_RANGE = 300

/** The PIN of a call is not a verification code. */
function meetingPoints({ start, end }: CandidateContext, reading: ScannedText): number {
  const near = labelsWithin(reading, start - MEETING_RANGE, end + MEETING_RANGE)
  return near.some(({ kind }) => kind === 'meeting') ? -3.5 : 0
}

function isLabelledCode(
  code: Label,
  label: Label,
  { start }: CandidateContext,
  reading: ScannedText,
): boolean {
  if (code.end > label.start || numberWithin(reading, code.end, start)) return false
  return !SENTENCE_END.test(reading.text.slice(code.end, start))
}

const MAX_HEADING = 40

/** A heading such as "Order number" on the line above. */
function headingPoints({ aloneOnLine, lineStart }: CandidateContext, reading: ScannedText): number {
  if (!aloneOnLine || lineStart === 0) return 0
  const from = Math.max(0, lineStart - MAX_HEADING - 10)
  const text = reading.text.slice(from, lineStart).trimEnd()
  const line = from + text.lastIndexOf('\n') + 1
  const end = from + text.length
  const labels = labelsWithin(reading, line, end)
  const label = labels.at(-1)
  if (!label || !labels.every(isOtherNumber) || end - line > MAX_HEADING) return 0
  return isDirect(reading.text.slice(label.end, end), reading.languages) ? -5 : 0
}

function isCode({ kind }: Label): boolean {
  return kind === 'code'
}

function isHint({ kind }: Label): boolean {
  return kind === 'secret' || kind === 'type'
}

export function isOtherNumber({ kind }: Label): boolean {
  return kind !== 'code' && kind !== 'secret' && kind !== 'type'
}
