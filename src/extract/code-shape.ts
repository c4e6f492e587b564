import type { Candidate } from './candidates.ts'

/** What the look of it says; a look that words have too needs a name right beside it. */
export function shapePoints(
  { value, kind, grouped }: Candidate,
  { named, alone }: { named: number; alone: boolean },
): number {
  if (kind === 'digits') return digitPoints(value, grouped, named >= 5)
  const told = named >= 4.5 || (alone && named >= 2.5)
  if (!/[0-9]/.test(value)) return told && looksDrawn(value) ? -0.5 : NEVER
  if (COUPON.test(value)) return -1.5
  if (/[a-z]/.test(value)) return told ? -0.5 : NEVER
  return 0.5
}

const NEVER = -100
const YEAR = /^(?:19|20)[0-9]{2}$/
/** A word with a number at its end: SPRING20. */
const COUPON = /^[A-Z]{3,}[0-9]{1,4}$/
const USUAL = new Map([
  [6, 1],
  [4, 0.5],
  [5, 0.5],
  [8, 0.5],
])

function digitPoints(value: string, grouped: boolean, named: boolean): number {
  if (YEAR.test(value) && !grouped) return named ? -1 : -2.5
  const round = /000$/.test(value) ? -1.5 : 0
  return (USUAL.get(value.length) ?? 0) + round + (grouped ? 0.5 : 0)
}

/** Letters drawn by lot have few vowels or stand in groups; a word in capitals does neither. */
function looksDrawn(value: string): boolean {
  const letters = value.replaceAll('-', '')
  const vowels = letters.replace(/[^AEIOU]/g, '').length
  return value.includes('-')
    ? letters.length <= 8
    : vowels * 4 <= letters.length && letters.length >= 5
}
