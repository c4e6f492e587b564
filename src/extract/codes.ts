import type { Code } from '../core/message.ts'
import { type Candidate, findCandidates } from './candidates.ts'
import { findLabels } from './context.ts'
import { fold } from './fold.ts'
import { score } from './scoring.ts'
import { wordFinder } from './word-finder.ts'

/** Text beyond this is ignored. */
export const MAX_TEXT_LENGTH = 200_000

interface CodeSource {
  senderName: string
  senderHost: string
  subject: string
  /** Value of the OTP-Token field, '' if there is none. */
  otpToken: string
  /** Visible text of the plain and of the HTML body. */
  texts: string[]
}

/**
 * Verification codes, most likely first. Two kinds are marked by the sender: the OTP-Token field, and the last line of
 * an origin-bound code (`@example.com #123456`). All others are found by the words around them.
 */
export function findCodes(source: CodeSource): Code[] {
  const found = new Map<string, Code>()
  for (const text of source.texts) {
    const bound = originBound(text)
    if (bound) addCode(found, codeOf(bound, MARKED_CONFIDENCE))
  }
  for (const code of scoredCodes(source)) addCode(found, code)
  const token = source.otpToken.trim()
  // Anyone who relays a mail can add the field, so it comes last if the mail contains another code.
  const isAlone = found.size === 0 || found.has(token)
  if (TOKEN.test(token)) addCode(found, codeOf(token, isAlone ? MARKED_CONFIDENCE : MIN_CONFIDENCE))
  return [...found.values()].sort((a, b) => b.confidence - a.confidence).slice(0, MAX_CODES)
}

const MAX_CODES = 5
const MARKED_CONFIDENCE = 0.99
/** Below this, a candidate is more likely something else. */
const MIN_CONFIDENCE = 0.5
const TOKEN = /^[0-9A-Za-z-]{4,64}$/
const ORIGIN_BOUND = /(?:^|\n)@[a-z0-9.-]{1,253} #([0-9A-Za-z-]{4,16})(?: @[a-z0-9.-]{1,253})?\s*$/i
const findPurposes = wordFinder(['purpose'])

function originBound(text: string): string | undefined {
  return ORIGIN_BOUND.exec(text.slice(0, MAX_TEXT_LENGTH).trimEnd().slice(-600))?.[1]
}

function scoredCodes(source: CodeSource): Code[] {
  const subject = fold(source.subject)
  const texts = source.texts.map((text) => fold(text.slice(0, MAX_TEXT_LENGTH)))
  const announced = findLabels(subject).some(({ kind }) => kind === 'code') ? 1.5 : 0
  const purposes = [subject, ...texts].reduce((count, text) => count + countPurposes(text), 0)
  const prior = Math.min(1, purposes * 0.35)
  const inSubject = scoreText(subject)
  const inTexts = texts.flatMap(scoreText)
  const toCodes = (scored: ScoredCandidate[], elsewhere: ScoredCandidate[], bonus: number) => {
    const repeated = new Set(elsewhere.map(({ candidate }) => candidate.value))
    return scored.map(({ candidate, points }) => {
      const all = points + prior + bonus + (repeated.has(candidate.value) ? 1 : 0)
      return codeOf(withoutSenderPrefix(candidate, source), confidenceOf(all))
    })
  }
  return [...toCodes(inSubject, inTexts, 0), ...toCodes(inTexts, inSubject, announced)]
}

interface ScoredCandidate {
  candidate: Candidate
  points: number
}

function scoreText(text: string): ScoredCandidate[] {
  const { candidates, starts } = findCandidates(text)
  const reading = { text, starts, labels: candidates.length > 0 ? findLabels(text) : [] }
  return candidates.map((candidate) => ({ candidate, points: score(candidate, reading) }))
}

/** Only the beginning: the effect is capped after a few words. */
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

/** Logistic: four points are even odds, and each further point more than doubles them. Always below MARKED_CONFIDENCE. */
function confidenceOf(points: number): number {
  const likely = 1 / (1 + Math.exp(-0.8 * (points - 4)))
  return Math.min(0.97, Math.round(likely * 100) / 100)
}

const PREFIXED = /^([A-Za-z]{1,3})-([0-9]{4,8})$/

/** In `G-482913` from Gazelle the prefix names the sender, and the form already shows it: only the digits are typed. */
function withoutSenderPrefix({ value }: Candidate, { senderName, senderHost }: CodeSource): string {
  const [, letters = '', digits = ''] = PREFIXED.exec(value) ?? []
  if (!digits) return value
  const names = [senderName, ...senderHost.split('.')].map(fold)
  return names.some((name) => abbreviates(letters, name)) ? digits : value
}

/** Whether the letters occur in the name in this order, starting with its first source. */
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
