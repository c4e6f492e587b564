import { foldCase, foldingBoundary } from '../../base/case-folding.ts'
import { Problem } from '../../base/problem.ts'
import {
  matchesSender,
  parseSenderPattern,
  type SenderPattern,
} from '../../shared/sender-pattern.ts'
import type { MessageSummary } from './message.ts'

/** Conditions on a message; all must be met. */
export interface MailFilter {
  from: SenderPattern | undefined
  /** Part of the subject, case-folded. */
  subject: string | undefined
  hasCode: boolean
  hasLink: boolean
}

export const MAX_SUBJECT_CHARACTERS = 200

interface FilterInput {
  from?: string | undefined
  subject?: string | undefined
  has_code?: boolean | undefined
  has_link?: boolean | undefined
}

/** Undefined without a condition. Throws `invalid_parameter`. */
export function parseFilter(input: FilterInput): MailFilter | undefined {
  const { from, subject, has_code: hasCode = false, has_link: hasLink = false } = input
  if (from === undefined && subject === undefined && !hasCode && !hasLink) return undefined
  const pattern = from === undefined ? undefined : parseSenderPattern(from)
  if (from !== undefined && pattern === undefined) {
    throw new Problem('invalid_parameter', 'from: must be an address or a domain.')
  }
  if (
    subject !== undefined &&
    characters(subject, MAX_SUBJECT_CHARACTERS) > MAX_SUBJECT_CHARACTERS
  ) {
    throw new Problem(
      'invalid_parameter',
      `subject: must be at most ${MAX_SUBJECT_CHARACTERS} characters.`,
    )
  }
  const part = subject === undefined ? undefined : folded(subject)
  return { from: pattern, subject: part, hasCode, hasLink }
}

/** Whether a message must be scanned before it is known to match. */
export function needsScan({ hasCode, hasLink }: MailFilter): boolean {
  return hasCode || hasLink
}

/** What a filter looks at. */
type Filtered = Pick<MessageSummary, 'senderEmail' | 'subject'> & Partial<MessageSummary>

/** Undefined if that depends on the code or links, and the message has not been scanned yet. */
export function matchesFilter(
  { from, subject, hasCode, hasLink }: MailFilter,
  message: Filtered,
): boolean | undefined {
  if (from !== undefined && !matchesSender(from, message.senderEmail)) return false
  if (subject !== undefined && !foldCase(message.subject).includes(subject)) return false
  const { code, links } = message
  if ((hasCode && code === '') || (hasLink && links === 0)) return false
  if ((hasCode && code === undefined) || (hasLink && links === undefined)) return undefined
  return true
}

// Folding this many takes 2 ms (ᾷ), or 5 ms if all are marks that decompose: during that time the thread serves nobody else.
const STEP_CHARACTERS = 10_000

/** Groups messages by the result of a test that folds their header fields, in steps: the caller can do something else between them. */
export function* groupSteps<M extends Filtered, Result>(
  messages: Iterable<M>,
  test: (message: M) => Result,
): Generator<void, Map<Result, M[]>> {
  const groups = new Map<Result, M[]>()
  const isNextStep = stepCounter()
  for (const message of messages) {
    if (isNextStep(message)) yield
    const result = test(message)
    const group = groups.get(result)
    if (group) group.push(message)
    else groups.set(result, [message])
  }
  return groups
}

/** Finds the first message that passes such a test, in the same steps; -1 if none does. */
export function* findIndexSteps<M extends Filtered>(
  messages: readonly M[],
  test: (message: M) => boolean | undefined,
): Generator<void, number> {
  const isNextStep = stepCounter()
  for (const [at, message] of messages.entries()) {
    if (isNextStep(message)) yield
    if (test(message)) return at
  }
  return -1
}

/** True for a message with which a new step begins. */
function stepCounter(): (message: Filtered) => boolean {
  let characters = 0
  return ({ senderName = '', senderEmail, subject }) => {
    const more = senderName.length + senderEmail.length + subject.length
    const isFull = characters + more > STEP_CHARACTERS
    characters = isFull ? more : characters + more
    return isFull
  }
}

/** Text to search for, case-folded. */
export type SearchText = string & { readonly brand: 'SearchText' }

export const SEARCH_CHARACTERS = { min: 2, max: 100 }

/** Throws `invalid_parameter`. */
export function parseSearch(text: string): SearchText {
  const { min, max } = SEARCH_CHARACTERS
  const count = characters(text, max)
  if (count < min || count > max) {
    throw new Problem('invalid_parameter', `q: must be ${min} to ${max} characters.`)
  }
  return folded(text) as SearchText
}

/** Whether the sender or the subject contains the text. */
export function isInSummary(
  search: SearchText,
  { senderName, senderEmail, subject }: MessageSummary,
): boolean {
  return [senderName, senderEmail, subject].some((text) => foldCase(text).includes(search))
}

export const SEARCHED_CHARACTERS = 100_000

/** Searches a text in steps. Returns undefined if the text is not in the part that is searched, and there is more. */
export function* searchSteps(
  search: SearchText,
  text: string,
): Generator<void, boolean | undefined> {
  const end = foldingBoundary(text, SEARCHED_CHARACTERS)
  let overlap = ''
  for (let at = 0; at < end; ) {
    if (at > 0) yield
    const next = Math.min(foldingBoundary(text, at + STEP_CHARACTERS), end)
    const part = overlap + foldCase(text.slice(at, next))
    if (part.includes(search)) return true
    overlap = part.slice(-search.length)
    at = next
  }
  return text.length > SEARCHED_CHARACTERS ? undefined : false
}

// Half of a pair would be found in every emoji.
function folded(text: string): string {
  return foldCase(text.toWellFormed())
}

/** Does not count further than one more than the maximum. */
function characters(text: string, max: number): number {
  return Iterator.from(text)
    .take(max + 1)
    .reduce((count) => count + 1, 0)
}
