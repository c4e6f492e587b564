import type { Candidate } from './candidates.ts'
import { shapePoints } from './code-shape.ts'
import type { Label } from './labels.ts'
import {
  announces,
  isDescribed,
  isDirect,
  type Line,
  labelsWithin,
  linesAbove,
  locate,
  numberWithin,
  type Place,
  type Reading,
  startsWithIs,
} from './placement.ts'

/**
 * How much speaks for a candidate being a code: what is said before it, after it and above it, whether it stands
 * alone, and how it looks. Points are added up; from 4 on it is more likely one than not.
 */
export function score(candidate: Candidate, reading: Reading): number {
  const place = locate(candidate, reading.text)
  const told = after(place, reading)
  const named = Math.max(before(place, reading), told, above(place, reading))
  // What is said of it in so many words outweighs what happens to stand before it.
  const contrary = Math.max(against(place, reading), told >= TOLD_AFTER ? -1.5 : -10)
  const alone = place.alone ? 1.5 : 0
  return named + contrary + alone + shapePoints(candidate, { named, alone: place.alone })
}

const FAR = 160
const NEAR = 40
const SENTENCE_END = /[.!?。！？؟](?:\s|$)|[。！？]/

/** What is said on the same line: the last name for a code, or that something be typed. */
function before(place: Place, reading: Reading): number {
  const from = Math.max(place.lineStart, place.start - FAR)
  const labels = labelsWithin(reading, from, place.start)
  const code = labels.findLast(({ kind }) => kind === 'code')
  const hint = labels.findLast(isHint)
  return Math.max(
    code ? nameBefore(code, place, reading) : 0,
    hint ? hintBefore(hint, place, reading) : 0,
  )
}

function nameBefore(label: Label, { start, announced }: Place, reading: Reading): number {
  const between = reading.text.slice(label.end, start)
  if (SENTENCE_END.test(between)) return 1
  if (isDirect(between)) return 5
  if (isDescribed(between)) return 4.5
  if (announced) return 4
  if (numberWithin(reading, label.end, start)) return 1
  return between.length <= NEAR ? 3 : 2
}

function hintBefore(label: Label, { start, announced }: Place, reading: Reading): number {
  if (isDirect(reading.text.slice(label.end, start))) return 3.5
  return announced && !numberWithin(reading, label.end, start) ? 2 : 0
}

/** "482913 is your code." */
function after({ end, lineEnd }: Place, reading: Reading): number {
  const labels = labelsWithin(reading, end, Math.min(lineEnd, end + 80))
  const label = labels.find(({ kind }) => kind === 'code') ?? labels.find(isHint)
  // A name with a colon speaks of what comes next.
  if (!label || /^ ?[:：]/.test(reading.text.slice(label.end, label.end + 2))) return 0
  const between = reading.text.slice(end, label.start)
  if (SENTENCE_END.test(between) || label.kind === 'type') return 0
  const told = startsWithIs(between) || /^ ?[(（]/.test(between)
  if (label.kind === 'secret') return told ? 3.5 : 0
  if (told) return TOLD_AFTER
  if (numberWithin(reading, end, label.start)) return 0
  if (between.length <= 16) return 3.5
  return between.length <= NEAR ? 2 : 1
}

const TOLD_AFTER = 5
const LINES_ABOVE = 3

/** What the lines above announce, when it is the first thing on its own. */
function above(place: Place, reading: Reading): number {
  if (!place.leads) return 0
  const share = place.alone ? 1 : 0.4
  let farther = 0
  for (const line of linesAbove(reading.text, place.lineStart, LINES_ABOVE)) {
    const points = lineAbove(line, reading)
    // What is to be typed is said on the very line before, or it is something else.
    if (points > TYPED_ABOVE || (points > 0 && farther === 0)) return (points - farther) * share
    farther += 1
  }
  return 0
}

const TYPED_ABOVE = 3

function lineAbove({ start, end }: Line, reading: Reading): number {
  const labels = labelsWithin(reading, start, end)
  const leads = announces(reading.text.slice(start, end))
  const code = labels.findLast(({ kind }) => kind === 'code')
  if (code) {
    // A number on the line of the name is what it names.
    const taken = numberWithin(reading, code.end, end) ? 1 : 0
    return 3.5 + (leads ? 1 : 0) - taken
  }
  const typed = labels.findLast(({ kind }) => kind === 'type')
  const last = typed && isDirect(reading.text.slice(typed.end, end))
  return typed && (leads || last) ? TYPED_ABOVE : 0
}

/** Names of other things that the number belongs to. */
function against(place: Place, reading: Reading): number {
  const { start, lineStart, end } = place
  const labels = labelsWithin(reading, Math.max(lineStart, start - FAR), start)
  const sold = labelsWithin(
    reading,
    Math.max(0, lineStart - 80),
    Math.min(end + 80, reading.text.length),
  )
  const sale = sold.some(({ kind }) => kind === 'sale') ? -3 : 0
  const label = labels.findLast(isForeign)
  if (!label) return sale + heading(place, reading)
  if (numberWithin(reading, label.end, start)) return sale
  const between = reading.text.slice(label.end, start)
  const code = labels.findLast(({ kind }) => kind === 'code')
  // "The code for your order is 4821": the number is the code, not the order.
  if (code && place.announced && isOurs(code, label, place, reading)) return sale
  if (isDirect(between)) return sale - 6
  const short = label.end - label.start <= 3
  const nearer = !code || code.end < label.start
  return sale + (nearer && !short && between.length <= 25 ? -2.5 : 0)
}

function isOurs(code: Label, label: Label, { start }: Place, reading: Reading): boolean {
  if (code.end > label.start || numberWithin(reading, code.end, start)) return false
  return !SENTENCE_END.test(reading.text.slice(code.end, start))
}

const MAX_HEADING = 40

/** "Order number", and below it the number. */
function heading({ alone, lineStart }: Place, reading: Reading): number {
  if (!alone || lineStart === 0) return 0
  const from = Math.max(0, lineStart - MAX_HEADING - 10)
  const text = reading.text.slice(from, lineStart).trimEnd()
  const line = from + text.lastIndexOf('\n') + 1
  const end = from + text.length
  const labels = labelsWithin(reading, line, end)
  const label = labels.at(-1)
  if (!label || !labels.every(isForeign) || end - line > MAX_HEADING) return 0
  return isDirect(reading.text.slice(label.end, end)) ? -5 : 0
}

function isHint({ kind }: Label): boolean {
  return kind === 'secret' || kind === 'type'
}

function isForeign({ kind }: Label): boolean {
  return kind === 'sale' || kind === 'other' || kind === 'number'
}
