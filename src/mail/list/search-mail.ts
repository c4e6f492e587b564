import { withTimeout } from '../../base/jobs/repeat.ts'
import { Problem } from '../../base/problem.ts'
import { htmlWords } from '../../mime/html-words.ts'
import type { Mail } from '../../shared/mail.ts'
import type { MailDeps } from '../deps.ts'
import { isLarge } from '../read/large-reads.ts'
import type { StepRequest } from '../read/step-scheduler.ts'
import {
  groupSteps,
  isInSummary,
  type MailFilter,
  matchesFilter,
  SEARCHED_CHARACTERS,
  type SearchText,
  searchSteps,
} from '../rules/filter.ts'
import { isScanned, type Message, type MessageSummary, scanResult } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { MessagePage } from '../store.ts'
import type { FoundMailbox } from './check-mail.ts'

interface SearchRequest {
  search: SearchText
  filter: MailFilter | undefined
  /** How many are wanted. */
  limit: number
  client: string | undefined
  signal?: AbortSignal | undefined
}

const SEARCH_MS = 2_000

/**
 * The messages whose sender, subject or text contains the search text, newest first. Incomplete if some of them could not be
 * parsed and read in time; parsing continues.
 */
export async function searchMail(
  deps: Pick<MailDeps, 'store' | 'codes' | 'parsed' | 'steps' | 'now'>,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  request: SearchRequest & MessagePage,
): Promise<{ session: Session; messages: MessageSummary[]; incomplete: boolean }> {
  const { store, codes } = deps
  const { sinceId, limit } = request
  const all = await store.listMessages(session.id, { sinceId, limit: Number.MAX_SAFE_INTEGER })
  codes.scan(session.id, all)
  const results = await searchSummaries(deps, session.id, all, request)
  // Those are listed with their previews.
  for (const hit of results.hits.values()) if (!isScanned(hit)) results.unread.add(hit)
  await searchTextsInTime(deps, results, request)
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const ids = new Set(await store.listMessageIds(current.id))
  // If one was deleted meanwhile, there is room for an older one, which may not have been read.
  for (const id of results.hits.keys()) if (!ids.has(id)) results.hits.delete(id)
  for (const message of results.unread) if (!ids.has(message.id)) results.unread.delete(message)
  return { session: current, ...foundOf(results, limit) }
}

/** The same of these messages, in the order of their ids. */
export async function searchMessages(
  deps: TextDeps,
  mailbox: StepRequest['mailbox'],
  messages: readonly Message[],
  request: SearchRequest,
): Promise<{ messages: Message[]; incomplete: boolean }> {
  const results = await searchSummaries(deps, mailbox, messages, request)
  await searchTextsInTime(deps, results, request)
  return foundOf(results, request.limit)
}

/** The newest of the messages that were found. */
function foundOf(results: Results, limit: number) {
  const messages = [...results.hits.values()].sort((a, b) => b.id - a.id).slice(0, limit)
  const incomplete = results.unread.values().some((one) => hasRoomFor(one, results, limit))
  return { messages, incomplete }
}

interface Results {
  /** By id. */
  hits: Map<number, Message>
  /** Undecided, or found but not parsed yet. */
  unread: Set<Message>
}

async function searchSummaries(
  { steps }: Pick<MailDeps, 'steps'>,
  mailbox: StepRequest['mailbox'],
  messages: readonly Message[],
  { search, filter, client, signal }: SearchRequest,
): Promise<Results> {
  const test = (message: Message) => {
    const isFiltered = filter ? matchesFilter(filter, message) : true
    if (isFiltered === false) return 'excluded'
    return isFiltered && isInSummary(search, message) ? 'hit' : 'undecided'
  }
  const groups = await steps.run({ client, mailbox, signal }, groupSteps(messages, test))
  const [hits, undecided] = [groups.get('hit') ?? [], groups.get('undecided') ?? []]
  return {
    hits: new Map(hits.map((message) => [message.id, message])),
    unread: new Set(undecided),
  }
}

/** Whether fewer than `limit` newer ones were found. */
function hasRoomFor({ id }: Message, { hits }: Results, limit: number): boolean {
  if (hits.size < limit) return true
  const newer = hits.keys().filter((hit) => hit > id)
  return newer.drop(limit - 1).next().done === true
}

// Two processes parse; more reads at once would only use memory.
const AT_ONCE = 4

async function searchTextsInTime(
  deps: TextDeps,
  results: Results,
  request: SearchRequest,
): Promise<void> {
  const timeout = new AbortController()
  try {
    await withTimeout(SEARCH_MS, searchTexts(deps, results, request, timeout.signal))
  } finally {
    timeout.abort()
  }
}

/** Reads the messages that may be listed, until `late`. */
async function searchTexts(
  deps: TextDeps,
  results: Results,
  request: SearchRequest,
  late: AbortSignal,
): Promise<void> {
  const ended = request.signal ? AbortSignal.any([request.signal, late]) : late
  const queue = [...results.unread]
    .sort((a, b) => readCost(a) - readCost(b) || b.id - a.id)
    .values()

  async function searchNext(): Promise<void> {
    for (const message of queue) {
      if (ended.aborted) return
      await searchText(deps, results, message, { ...request, signal: ended }).catch((error) => {
        const isOverload = error instanceof Problem && error.code === 'overloaded'
        if (!isOverload && !late.aborted) throw error
      })
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, searchNext))
}

/** Large ones are read one at a time, and those not parsed yet may take longest: others must not wait for them. */
function readCost(message: Message): number {
  if (!isScanned(message)) return 2
  return isLarge(message) ? 1 : 0
}

type TextDeps = Pick<MailDeps, 'parsed' | 'steps'>

async function searchText(
  { parsed, steps }: TextDeps,
  results: Results,
  message: Message,
  { search, filter, limit, client, signal }: SearchRequest,
): Promise<void> {
  const { id, rawId, recipient: mailbox, size } = message
  const reader = { client, mailbox, signal }
  // Reading a small mail is a step, too: it does not yield to other requests by itself.
  if (!(await steps.step(reader, () => hasRoomFor(message, results, limit)))) return
  const mail = await parsed(rawId, { ...reader, size })
  // Deleted, or moved to another partition.
  if (!mail) return
  const found = { ...message, ...scanResult(mail) }
  const isMatch = await steps.run(reader, matchSteps(search, filter, found, mail))
  if (isMatch !== undefined) results.unread.delete(message)
  if (isMatch) results.hits.set(id, found)
}

/** Undefined if the text is too long to search all of it. */
function* matchSteps(
  search: SearchText,
  filter: MailFilter | undefined,
  message: MessageSummary,
  { text, html }: Mail,
): Generator<void, boolean | undefined> {
  if (filter && !matchesFilter(filter, message)) return false
  if (isInSummary(search, message)) return true
  const inText = yield* searchSteps(search, text ?? '')
  if (inText || html === null) return inText
  // The text part of a newsletter may be a single sentence.
  const { words, isWhole } = yield* htmlWords(html, SEARCHED_CHARACTERS + 1)
  const inHtml = yield* searchSteps(search, words)
  if (inHtml) return true
  return inText === undefined || !isWhole ? undefined : inHtml
}
