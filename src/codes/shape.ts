import { type Candidate, ROUND } from './candidates.ts'

interface Naming {
  /** Points for the words that call it a code. */
  named: number
  /** Alone on its line. */
  alone: boolean
  /** The same, or at the end of a line after a colon. */
  isSetOff: boolean
}

/** Points for the shape; a shape that ordinary words or other numbers have, too, needs a label right beside it. */
export function shapePoints({ value, kind, grouped, isRare }: Candidate, naming: Naming): number {
  const { named, alone } = naming
  const isLabelled = named >= 4.5 || (alone && named >= 2.5)
  if (isRare && !isLabelled) return EXCLUDED
  if (kind === 'digits') return digitPoints(value, grouped, named >= 5)
  if (COUPON.test(value)) return -1.5
  if (/^[0-9A-Z-]*[0-9][0-9A-Z-]*$/.test(value)) return 0.5
  if (!isLabelled) return EXCLUDED
  if (kind === 'words') return wordPoints(value, naming)
  return /[0-9]/.test(value) || looksRandom(value, alone) ? -0.5 : EXCLUDED
}

const EXCLUDED = -100
/** Years of dates that occur in mail. */
export const YEAR = /^(?:19[4-9]|20[0-4])[0-9]$/
/** A word with a number at its end: SPRING20. */
const COUPON = /^[A-Z]{3,}[0-9]{1,4}$/
const LENGTH_POINTS: Partial<Record<number, number>> = { 4: 0.5, 5: 0.5, 6: 1, 8: 0.5 }

function digitPoints(value: string, grouped: boolean, isNamed: boolean): number {
  if (YEAR.test(value) && !grouped) return isNamed ? -1 : -2.5
  const round = /000$/.test(value) || (ROUND.test(value) && !isNamed) ? -1.5 : 0
  return (LENGTH_POINTS[value.length] ?? 0) + round + (grouped ? 0.5 : 0)
}

/** Two words are more often an adjective, and words with blanks a sentence. */
function wordPoints(value: string, { named, alone, isSetOff }: Naming): number {
  const isAmbiguous = value.split('-').length < 3
  if (isAmbiguous && (named < 4.5 || !isSetOff)) return EXCLUDED
  return alone ? 0 : -1
}

/** Letters of which a code rarely has none, and a word rarely two. */
const UNUSUAL = /[JKQVWXZ]/g

/** Random letters have few vowels; a word in capitals may have few, too, but then has few unusual letters. */
function looksRandom(value: string, alone: boolean): boolean {
  const letters = value.replaceAll('-', '')
  const vowels = letters.replace(/[^AEIOUY]/gi, '').length
  if (/[a-z]/.test(value)) return vowels * 5 <= letters.length
  if (letters.length < 5) return false
  if (!alone) return vowels === 0 || (value.match(UNUSUAL)?.length ?? 0) > 1
  return value.includes('-') ? letters.length <= 8 : vowels * 4 <= letters.length
}
