import type { Candidate } from './code-candidates.ts'
import type { Label } from './code-labels.ts'
import {
  announces,
  isDescribed,
  isDirect,
  labelsWithin,
  linesAbove,
  locate,
  numberWithin,
  type Place,
  type Reading,
  startsWithIs,
} from './code-place.ts'
import { shapePoints } from './code-shape.ts'

/**
 * How much speaks for a candidate being a code: what is said before it, after it and above it, whether it stands
 * alone, and how it looks. Points are added up; from 4 on it is more likely one than not.
 */
export function score(candidate: Candidate, reading: Reading): number {
  const place = locate(candidate, reading.text)
  const named = Math.max(before(place, reading), after(place, reading), above(place, reading))
  const alone = place.alone ? 1.5 : 0
  return (
    named + alone + against(place, reading) + shapePoints(candidate, { named, alone: place.alone })
  )
}

const FAR = 160
const NEAR = 40
const SENTENCE_END = /[.!?。！？؟](?:\s|$)|[。！？]/

/** The last name for a code on the same line. */
function before(place: Place, reading: Reading): number {
  const { start, announced } = place
  const from = Math.max(place.lineStart, start - FAR)
  const label = labelsWithin(reading, from, start).findLast(isName)
  if (!label) return 0
  const between = reading.text.slice(label.end, start)
  const taken = numberWithin(reading, label.end, start)
  if (label.kind === 'secret') return isDirect(between) ? 3.5 : announced && !taken ? 2 : 0
  if (isDirect(between)) return 5
  if (SENTENCE_END.test(between)) return 1
  if (isDescribed(between)) return 4.5
  if (announced) return 4
  if (taken) return 1
  return between.length <= NEAR ? 3 : 2
}

/** "482913 is your code." */
function after({ end, lineEnd }: Place, reading: Reading): number {
  const label = labelsWithin(reading, end, Math.min(lineEnd, end + 80)).find(isName)
  if (!label || label.kind === 'secret') return 0
  const between = reading.text.slice(end, label.start)
  if (numberWithin(reading, end, label.start) || SENTENCE_END.test(between)) return 0
  if (startsWithIs(between)) return 4.5
  if (between.length <= 16) return 3.5
  return between.length <= NEAR ? 2 : 1
}

const LINES_ABOVE = 3

/** What the lines above announce, when it is the first thing on its own. */
function above(place: Place, reading: Reading): number {
  if (!place.leads) return 0
  const share = place.alone ? 1 : 0.4
  let points = 3.5
  for (const { start, end } of linesAbove(reading.text, place.lineStart, LINES_ABOVE)) {
    const label = labelsWithin(reading, start, end).findLast(isName)
    if (label?.kind === 'code') {
      // A number on the line of the name is what it names.
      const taken = numberWithin(reading, label.end, end) ? 1 : 0
      return (points + (announces(reading.text.slice(start, end)) ? 1 : 0) - taken) * share
    }
    points -= 1
  }
  return 0
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
  const label = labels.findLast((one) => !isName(one))
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
  if (!label || labels.some(isName) || end - line > MAX_HEADING) return 0
  return isDirect(reading.text.slice(label.end, end)) ? -5 : 0
}

function isName({ kind }: Label): boolean {
  return kind === 'code' || kind === 'secret'
}
