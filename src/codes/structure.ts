import { fold } from './fold.ts'
import { isOtherNumber, type ScoredCandidate, type ScoredText } from './scoring.ts'
import { YEAR } from './shape.ts'
import type { Vocabulary } from './vocabulary.ts'
import { wordFinder } from './word-finder.ts'

/**
 * Evidence that does not depend on the language: a short mail from an automatic sender, or a very short one with a subject
 * that announces a code, in which one number is alone on its line or set large. Words for orders, discounts and the like in a known
 * language outweigh it.
 */
export function structurePoints(
  { senderAddress, largeTexts, languages }: StructureSource,
  { subject, texts, purposes }: ScoredMail,
): (one: ScoredCandidate) => number {
  const all = [subject, ...texts]
  const length = Math.max(...texts.map(({ text }) => lengthOf(text)))
  if (length > MAX_SHORT || subject.labels.some(isOtherNumber)) return NONE
  const isTerse = length <= MAX_TERSE
  const isAnnounced = isTerse && subject.labels.some(({ kind }) => kind === 'code')
  const isUnsure = isAnnounced || languages.length > MAX_KNOWN
  const large = new Set(largeTexts.map((text) => fold(text).replace(/[\s-]/g, '')))
  const isLarge = ({ candidate: { value } }: ScoredCandidate) =>
    large.has(value.replaceAll('-', ''))
  const typical = all.flatMap((text) =>
    text.scored.filter(
      (one) =>
        isTypical(one) && (isUnsure || otherNumbersBefore(one, text) < Math.max(1, purposes)),
    ),
  )
  const standing = typical.filter((one) => one.alone || isLarge(one))
  if ((isAnnounced || isAutomatic(senderAddress)) && valuesOf(standing).size === 1) {
    return (one) => (standing.includes(one) ? STANDS_OUT + (isLarge(one) ? LARGE : 0) : 0)
  }
  const isSole = isTerse && texts.every(({ numbers }) => numbers <= 1)
  if (!isSole || valuesOf(typical).size !== 1) return NONE
  // "Sign in with 4829." and nothing else
  const aboutSignIn = all.some(({ text }) => findSignIn(text, languages).length > 0)
  const points = ({ points }: ScoredCandidate) => (points >= ALMOST ? SOLE_AND_NAMED : 0)
  return (one) => (typical.includes(one) ? (aboutSignIn ? SOLE : points(one)) : 0)
}

interface StructureSource {
  senderAddress: string
  largeTexts: string[]
  languages: Vocabulary[]
}

interface ScoredMail {
  subject: ScoredText
  texts: ScoredText[]
  /** Number of words for the purpose of a code. */
  purposes: number
}

function otherNumbersBefore({ candidate }: ScoredCandidate, { labels }: ScoredText): number {
  return labels.filter((label) => isOtherNumber(label) && label.end <= candidate.start).length
}

function valuesOf(some: ScoredCandidate[]): Set<string> {
  return new Set(some.map(({ candidate }) => candidate.value))
}

const findSignIn = wordFinder(['signIn'])
const NONE = () => 0
const STANDS_OUT = 2.5
const LARGE = 1
const SOLE = 3.5
const SOLE_AND_NAMED = 1
/** With some words for it. */
const ALMOST = 2.5
/** Without words for or against it, a candidate has about as many points as its shape gives. */
const LEAST_POINTS = -1
const MAX_SHORT = 1_200
const MAX_TERSE = 200
/** More languages than this: the language is unknown, and what looks like a word for an order may be none. */
const MAX_KNOWN = 8
/** Mailboxes of programs. Those for orders, bills, bookings and news are not among them. */
const MAILBOXES = `(?:no|do-?not|dont|never)[-_.]?reply n[ao]o?[-_.]?respond\\w* ne[-_.]?pas[-_.]?repondre
(?:nicht|keine)[-_.]?antwort\\w* ikke[-_.]?svar svara?[-_.]?ej niet[-_.]?beantwoorden accounts? auth\\w* access codes?
confirm\\w* help hello id identity info log-?in mail(?:er)? member noti\\w* otp 2fa passw\\w* postmaster registr\\w*
robot secur\\w* services? sign-?in sign-?up support system team tokens? user verif\\w* welcome konto hesap cuenta conta
compte bilgi seguridad`
const AUTOMATIC = new RegExp(`^(?:${MAILBOXES.replace(/\s/g, '|')})(?:$|[-_.+0-9])`, 'i')

function isAutomatic(address: string): boolean {
  return AUTOMATIC.test(address.slice(0, address.lastIndexOf('@')))
}

/** Without repeated blanks. */
function lengthOf(text: string): number {
  return text.length > MAX_SHORT * 8 ? text.length : text.replace(/\s+/g, ' ').length
}

function isTypical({ candidate: { kind, value, isRare }, points }: ScoredCandidate): boolean {
  if (kind === 'words' || isRare || points <= LEAST_POINTS) return false
  if (kind === 'digits') return !YEAR.test(value)
  return /^(?=.*[0-9])[0-9A-Z]{5,8}$/.test(value)
}
