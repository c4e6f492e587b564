import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  isInSummary,
  type MailFilter,
  matchesFilter,
  type SearchText,
  searchSteps,
} from '../../core/mail-filter.ts'
import { isScanned, type Message, type MessageSummary, scanResult } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'
import type { MessagePage } from '../../store/store.ts'
import { withTimeout } from '../background/repeat.ts'
import type { ServiceDeps } from '../deps.ts'
import { liveSession } from '../sessions/session.ts'
import type { FoundMailbox } from './check-mail.ts'
import { isLarge } from './large-reads.ts'
import type { ReadParsed } from './parsed-mail.ts'

interface SearchRequest extends MessagePage {
  search: SearchText
  filter: MailFilter | undefined
  client: string | undefined
  signal: AbortSignal
}

const SEARCH_MS = 2_000

/**
 * The messages whose sender, subject or text contains the search text, newest first. Incomplete if some of them could not be
 * parsed and read in time; parsing continues.
 */
export async function searchMail(
  deps: Pick<ServiceDeps, 'store' | 'codes' | 'parsed' | 'now'>,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  request: SearchRequest,
): Promise<{ session: Session; messages: MessageSummary[]; incomplete: boolean }> {
  const { store, codes, parsed } = deps
  const { sinceId, limit } = request
  const all = await store.listMessages(session.id, { sinceId, limit: Number.MAX_SAFE_INTEGER })
  codes.scan(session.id, all)
  const results = searchSummaries(all, request)
  const timeout = new AbortController()
  try {
    await withTimeout(SEARCH_MS, searchTexts(parsed, results, request, timeout.signal))
  } finally {
    timeout.abort()
  }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const ids = new Set(await store.listMessageIds(current.id))
  // If one was deleted meanwhile, there is room for an older one, which may not have been read.
  for (const id of results.hits.keys()) if (!ids.has(id)) results.hits.delete(id)
  const messages = [...results.hits.values()].sort((a, b) => b.id - a.id).slice(0, limit)
  const incomplete = [...results.unread].some(
    (message) => ids.has(message.id) && hasRoomFor(message, results, limit),
  )
  return { session: current, messages, incomplete }
}

interface Results {
  /** By id. */
  hits: Map<number, MessageSummary>
  /** Undecided, or found but not parsed yet. */
  unread: Set<Message>
}

function searchSummaries(messages: readonly Message[], { search, filter }: SearchRequest): Results {
  const results: Results = { hits: new Map(), unread: new Set() }
  for (const message of messages) {
    const isFiltered = filter ? matchesFilter(filter, message) : true
    if (isFiltered === false) continue
    const isHit = isFiltered && isInSummary(search, message)
    if (isHit) results.hits.set(message.id, message)
    if (!isHit || !isScanned(message)) results.unread.add(message)
  }
  return results
}

/** Whether fewer than `limit` newer ones were found. */
function hasRoomFor({ id }: Message, { hits }: Results, limit: number): boolean {
  if (hits.size < limit) return true
  const newer = hits.keys().filter((hit) => hit > id)
  return newer.drop(limit - 1).next().done === true
}

// Two processes parse; more reads at once would only use memory.
const AT_ONCE = 4

/** Reads the messages that may be listed, until `late`. */
async function searchTexts(
  parsed: ReadParsed,
  results: Results,
  request: SearchRequest,
  late: AbortSignal,
): Promise<void> {
  const ended = AbortSignal.any([request.signal, late])
  const queue = [...results.unread].sort((a, b) => readCost(a) - readCost(b)).values()

  async function searchNext(): Promise<void> {
    for (const message of queue) {
      if (ended.aborted) return
      if (hasRoomFor(message, results, request.limit)) {
        await searchText(parsed, results, message, { ...request, signal: ended }).catch((error) => {
          const isOverload = error instanceof Problem && error.code === 'overloaded'
          if (!isOverload && !late.aborted) throw error
        })
      }
      // Reads of small mails do not yield to other requests by themselves.
      await nextTurn()
    }
  }

  await Promise.all(Array.from({ length: AT_ONCE }, searchNext))
}

/** Large ones are read one at a time, and those not parsed yet may take longest: others must not wait for them. */
function readCost(message: Message): number {
  if (!isScanned(message)) return 2
  return isLarge(message) ? 1 : 0
}

async function searchText(
  parsed: ReadParsed,
  { hits, unread }: Results,
  message: Message,
  { search, filter, client, signal }: SearchRequest,
): Promise<void> {
  const { id, rawId, recipient: mailbox, size } = message
  const mail = await parsed(rawId, { client, mailbox, size, signal })
  // Deleted, or moved to another partition.
  if (!mail) return
  const found = { ...message, ...scanResult(mail) }
  const isMatch =
    (!filter || matchesFilter(filter, found)) &&
    (isInSummary(search, found) || (await isInText(search, mail.text ?? '', signal)))
  if (isMatch !== undefined) unread.delete(message)
  if (isMatch) hits.set(id, found)
}

/** Undefined if it is too long, or there was no time for all of it. */
async function isInText(
  search: SearchText,
  text: string,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const steps = searchSteps(search, text)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await nextTurn()
    if (signal.aborted) return undefined
  }
}
