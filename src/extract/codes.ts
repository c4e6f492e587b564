import type { Code } from '../core/message.ts'
import { type Candidate, findCandidates } from './candidates.ts'
import { findLabels } from './context.ts'
import { fold } from './fold.ts'
import { score } from './scoring.ts'
import { wordFinder } from './word-finder.ts'

/** More of a text is not looked at. */
export const MAX_TEXT_LENGTH = 200_000

/** The parts of a mail that are looked at. */
interface CodeSource {
  senderName: string
  senderHost: string
  subject: string
  /** What the OTP-Token header says, empty where there is none. */
  otpToken: string
  /** The text as lines; of text and HTML both, if both came. */
  texts: string[]
}

/**
 * The codes that a mail asks to be typed in elsewhere, the likeliest first. Two kinds are marked as such by the
 * sender: the OTP-Token header, and the last line of the origin-bound form (`@example.com #123456`). All others are
 * found by the words around them.
 */
export function findCodes(letter: CodeSource): Code[] {
  const found = new Map<string, Code>()
  for (const text of letter.texts) {
    const bound = originBound(text)
    if (bound) addCode(found, codeOf(bound, MARKED_CONFIDENCE))
  }
  for (const code of scoredCodes(letter)) addCode(found, code)
  const token = letter.otpToken.trim()
  // Whoever hands a signed mail on can add the header: it is the last to be believed where the mail says another code.
  const isAlone = found.size === 0 || found.has(token)
  if (TOKEN.test(token)) addCode(found, codeOf(token, isAlone ? MARKED_CONFIDENCE : MIN_CONFIDENCE))
  return [...found.values()].sort((a, b) => b.confidence - a.confidence).slice(0, MAX_CODES)
}

const MAX_CODES = 5
const MARKED_CONFIDENCE = 0.99
/** Below it a candidate is more likely something else. */
const MIN_CONFIDENCE = 0.5
const TOKEN = /^[0-9A-Za-z-]{4,64}$/
const ORIGIN_BOUND = /(?:^|\n)@[a-z0-9.-]{1,253} #([0-9A-Za-z-]{4,16})(?: @[a-z0-9.-]{1,253})?\s*$/i
const findPurposes = wordFinder(['purpose'])

function originBound(text: string): string | undefined {
  return ORIGIN_BOUND.exec(text.slice(0, MAX_TEXT_LENGTH).trimEnd().slice(-600))?.[1]
}

function scoredCodes(letter: CodeSource): Code[] {
  const subject = fold(letter.subject)
  const texts = letter.texts.map((text) => fold(text.slice(0, MAX_TEXT_LENGTH)))
  const announced = findLabels(subject).some(({ kind }) => kind === 'code') ? 1.5 : 0
  const purposes = [subject, ...texts].reduce((count, text) => count + countPurposes(text), 0)
  const prior = Math.min(1, purposes * 0.35)
  const inSubject = scoreText(subject)
  const inTexts = texts.flatMap(scoreText)
  const valuesInTexts = new Set(inTexts.map(({ candidate }) => candidate.value))
  const valuesInSubject = new Set(inSubject.map(({ candidate }) => candidate.value))
  return [
    ...inSubject.map(({ candidate, points }) => ({
      candidate,
      points: points + prior + (valuesInTexts.has(candidate.value) ? 1 : 0),
    })),
    ...inTexts.map(({ candidate, points }) => ({
      candidate,
      points: points + prior + announced + (valuesInSubject.has(candidate.value) ? 1 : 0),
    })),
  ].map(({ candidate, points }) =>
    codeOf(withoutSenderPrefix(candidate, letter), confidenceOf(points)),
  )
}

function scoreText(text: string): { candidate: Candidate; points: number }[] {
  const { candidates, starts } = findCandidates(text)
  const reading = { text, starts, labels: candidates.length > 0 ? findLabels(text) : [] }
  return candidates.map((candidate) => ({ candidate, points: score(candidate, reading) }))
}

/** Three of them say as much as thirty. */
function countPurposes(text: string): number {
  return findPurposes(text.slice(0, 4_000)).length
}

function addCode(found: Map<string, Code>, code: Code): void {
  if (code.confidence < MIN_CONFIDENCE) return
  const known = found.get(code.value)
  if (!known || known.confidence < code.confidence) found.set(code.value, code)
}

function codeOf(value: string, confidence: number): Code {
  return { value, kind: /^[0-9]+$/.test(value) ? 'digits' : 'letters_and_digits', confidence }
}

/** Four points are even odds; each further one more than doubles them. Words alone are never as sure as a mark. */
function confidenceOf(points: number): number {
  const likely = 1 / (1 + Math.exp(-0.8 * (points - 4)))
  return Math.min(0.97, Math.round(likely * 100) / 100)
}

const PREFIXED = /^([A-Za-z]{1,3})-([0-9]{4,8})$/

/** In `G-482913` from Gazelle the letters say whose code it is, and the form shows them already: only digits are typed. */
function withoutSenderPrefix({ value }: Candidate, { senderName, senderHost }: CodeSource): string {
  const [, letters = '', digits = ''] = PREFIXED.exec(value) ?? []
  if (!digits) return value
  const names = [senderName, ...senderHost.split('.')].map(fold)
  return names.some((name) => abbreviates(letters, name)) ? digits : value
}

/** The letters stand in the name in this order, the first of them first. */
function abbreviates(letters: string, name: string): boolean {
  const lower = name.toLowerCase()
  let at = -1
  for (const letter of letters.toLowerCase()) {
    at = lower.indexOf(letter, at + 1)
    if (at < 0) return false
  }
  return lower[0] === letters[0]?.toLowerCase()
}

// Limits: the first 200,000 characters of each text, the first 300 candidates; codes of 4 to 8 digits or up to 12
// letters and digits; ten languages.
