import type { Code } from '../core/message.ts'
import { type Candidate, findCandidates, kindOf } from './candidates.ts'
import { findLabels, type Label } from './context.ts'
import { fold } from './fold.ts'
import { type ScoredCandidate, type ScoredText, score } from './scoring.ts'
import { structurePoints } from './structure.ts'
import type { Vocabulary } from './vocabulary/vocabulary.ts'
import { wordFinder } from './word-finder.ts'

/** Text beyond this is ignored. */
export const MAX_TEXT_LENGTH = 200_000

interface CodeSource {
  senderName: string
  senderAddress: string
  subject: string
  /** Value of the OTP-Token field, '' if there is none. */
  otpToken: string
  /** Visible text of the plain and of the HTML body. */
  texts: string[]
  /** Short texts that are set in a large font. */
  largeTexts: string[]
  languages: Vocabulary[]
}

/**
 * Verification codes, most likely first. Two kinds are marked by the sender: the OTP-Token field, and the last line of
 * an origin-bound code (`@example.com #123456`). All others are found by the words around them and by their position.
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
  const { languages } = source
  const subject = scanText(fold(source.subject), languages, true)
  const texts = source.texts.map((text) =>
    scanText(fold(text.slice(0, MAX_TEXT_LENGTH)), languages),
  )
  const all = [subject, ...texts]
  if (all.every(({ scored }) => scored.length === 0)) return []
  const purposes = all.reduce((count, { text }) => count + countPurposes(text, languages), 0)
  const prior = Math.min(1, purposes * 0.35)
  const structure = structurePoints(source, { subject, texts, purposes })
  const inTexts = texts.flatMap(({ scored }) => scored)
  const named = namedOtherwise([...subject.scored, ...inTexts])
  const toCodes = (scored: ScoredCandidate[], elsewhere: ScoredCandidate[], bonus: number) => {
    const repeated = new Set(elsewhere.map(({ candidate }) => candidate.value))
    return scored
      .filter(({ candidate }) => isWrittenSo(candidate, source))
      .map((one) => {
        const { value } = one.candidate
        const more = prior + bonus + (repeated.has(value) ? 1 : 0) + structure(one)
        const less = Math.min(0, (named.get(value) ?? 0) - one.contrary)
        return codeOf(withoutSenderPrefix(value, source), confidenceOf(one.points + more + less))
      })
  }
  return [
    ...toCodes(subject.scored, inTexts, 0),
    ...toCodes(inTexts, subject.scored, subjectPoints(subject.labels)),
  ]
}

/** Labels matter only beside a number, except in a subject. */
function scanText(text: string, languages: Vocabulary[], isSubject = false): ScoredText {
  const { candidates, starts } = findCandidates(text, languages)
  const labels = isSubject || candidates.length > 0 ? findLabels(text, languages) : []
  const reading = { text, languages, starts, labels }
  const scored = candidates.map((candidate) => score(candidate, reading))
  return { text, labels, scored, numbers: starts.length }
}

/** Values that are clearly something else in one place, and are therefore nowhere a code: an order, a discount. */
function namedOtherwise(scored: ScoredCandidate[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const { candidate, contrary } of scored) {
    if (contrary > CLEARLY_OTHER) continue
    found.set(candidate.value, Math.min(contrary, found.get(candidate.value) ?? 0))
  }
  return found
}

const CLEARLY_OTHER = -5

/** A subject that announces a code, or a discount. */
function subjectPoints(labels: Label[]): number {
  if (labels.some(({ kind }) => kind === 'code')) return 1.5
  return labels.some(({ kind }) => kind === 'sale' || kind === 'meeting') ? -2 : 0
}

/** Only the beginning: the effect is capped after a few words. */
function countPurposes(text: string, languages: Vocabulary[]): number {
  return findPurposes(text.slice(0, 4_000), languages).length
}

function addCode(found: Map<string, Code>, code: Code): void {
  if (code.confidence < MIN_CONFIDENCE) return
  const known = found.get(code.value)
  if (!known || known.confidence < code.confidence) found.set(code.value, code)
}

function codeOf(value: string, confidence: number): Code {
  return { value, kind: kindOf(value), confidence }
}

/** Logistic: four points are even odds, and each further point more than doubles them. Always below MARKED_CONFIDENCE. */
function confidenceOf(points: number): number {
  const likely = 1 / (1 + Math.exp(-0.8 * (points - 4)))
  return Math.min(0.97, Math.round(likely * 100) / 100)
}

/** Folding removes accents, which are part of a word that is typed. */
function isWrittenSo({ kind, value }: Candidate, { subject, texts }: CodeSource): boolean {
  return kind !== 'words' || [subject, ...texts].some((text) => text.includes(value))
}

const PREFIXED = /^([A-Za-z]{1,3})-([0-9]{4,8})$/

/** In `G-482913` from Gazelle the prefix names the sender, and the form already shows it: only the digits are typed. */
function withoutSenderPrefix(value: string, { senderName, senderAddress }: CodeSource): string {
  const [, letters = '', digits = ''] = PREFIXED.exec(value) ?? []
  if (!digits) return value
  const host = senderAddress.split('@').at(-1) ?? ''
  const names = [senderName, ...host.split('.')].map(fold)
  return names.some((name) => abbreviates(letters, name)) ? digits : value
}

/** Whether the letters occur in the name in this order, starting with its first letter. */
function abbreviates(letters: string, name: string): boolean {
  const lower = name.toLowerCase()
  let at = -1
  for (const letter of letters.toLowerCase()) {
    at = lower.indexOf(letter, at + 1)
    if (at < 0) return false
  }
  return lower[0] === letters[0]?.toLowerCase()
}

// Limits: the first 200,000 characters of each text, the first 300 candidates; codes of 4 to 8 digits, up to 12 letters
// and digits, or words with hyphens; the languages of languages.ts, and any other only by the structure of a short mail.
