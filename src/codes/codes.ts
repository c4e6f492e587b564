import type { Code } from '../shared/mail.ts'
import { type Candidate, type Candidates, findCandidates, kindOf } from './candidates.ts'
import { findLabels, type Label } from './context.ts'
import { fold } from './fold.ts'
import { type ScoredCandidate, type ScoredText, score } from './scoring.ts'
import { senderNames } from './sender-names.ts'
import { structurePoints } from './structure.ts'
import type { Vocabulary } from './vocabulary.ts'
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

function originBound(text: string): string | undefined {
  return ORIGIN_BOUND.exec(text.slice(0, MAX_TEXT_LENGTH).trimEnd().slice(-600))?.[1]
}

function scoredCodes(source: CodeSource): Code[] {
  const { languages } = source
  const names = senderNames(source.senderName, source.senderAddress)
  const found = [source.subject, ...source.texts].map((text) => {
    const folded = fold(text.slice(0, MAX_TEXT_LENGTH))
    return { text: folded, ...findCandidates(folded, languages, names) }
  })
  if (found.every(({ candidates }) => candidates.length === 0)) return []
  // Only those at the beginning: the effect is capped after a few words.
  const words = found.flatMap(({ text }) => findMailWords(text.slice(0, 4_000), languages))
  const purposes = words.filter(({ kind }) => kind === 'purpose').length
  const isReceipt = purposes <= RECEIPT_PURPOSES && words.some(({ kind }) => kind === 'receipt')
  const [subject = EMPTY, ...texts] = found.map((one, at) => {
    // Labels matter only beside a number, except in the subject.
    const hasLabels = at === 0 || one.candidates.length > 0
    return scoreText(one, hasLabels ? findLabels(one.text, languages, isReceipt) : [], languages)
  })
  const prior = Math.min(1, purposes * 0.35)
  const structure = structurePoints(source, { subject, texts, purposes })
  const inTexts = texts.flatMap(({ scored }) => scored)
  const named = namedOtherwise([...subject.scored, ...inTexts])
  const toCodes = (scored: ScoredCandidate[], elsewhere: ScoredCandidate[], bonus: number) => {
    const repeated = new Set(elsewhere.map(({ candidate }) => candidate.value))
    return scored
      .filter(({ candidate }) => appearsVerbatim(candidate, source))
      .map((one) => {
        const { value } = one.candidate
        const more = prior + bonus + (repeated.has(value) ? 1 : 0) + structure(one)
        const less = Math.min(0, (named.get(value) ?? 0) - one.contrary)
        return codeOf(value, confidenceOf(one.points + more + less))
      })
  }
  return [
    ...toCodes(subject.scored, inTexts, 0),
    ...toCodes(inTexts, subject.scored, subjectPoints(subject.labels)),
  ]
}

const findMailWords = wordFinder(['purpose', 'receipt'])
/** More words for the purpose of a code than this, and the mail is not a receipt. */
const RECEIPT_PURPOSES = 2
const EMPTY: ScoredText = { text: '', labels: [], scored: [], numbers: 0 }

function scoreText(
  { text, candidates, starts, numbers }: { text: string } & Candidates,
  labels: Label[],
  languages: Vocabulary[],
): ScoredText {
  const reading = { text, languages, starts, labels }
  const scored = candidates.map((candidate) => score(candidate, reading))
  return { text, labels, scored, numbers }
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
function appearsVerbatim({ kind, value }: Candidate, { subject, texts }: CodeSource): boolean {
  return kind !== 'words' || [subject, ...texts].some((text) => text.includes(value))
}

// Limits: the first 200,000 characters of each text, the first 300 candidates; codes of 4 to 9 digits, up to 12 letters
// and digits, or two to eight words; the languages of languages.ts, and any other only by the structure of a short mail.
