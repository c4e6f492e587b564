import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  isInSummary,
  isInText,
  type MailFilter,
  matchesFilter,
  type SearchText,
} from '../../core/mail-filter.ts'
import { isScanned, type Message, type MessageSummary, scanResult } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'
import type { MessagePage } from '../../store/store.ts'
import { withTimeout } from '../background/repeat.ts'
import type { ServiceDeps } from '../deps.ts'
import { liveSession } from '../sessions/session.ts'
import type { FoundMailbox, MailboxState } from './check-mail.ts'
import type { MailChange } from './mailbox-view.ts'

type FilterDeps = Pick<ServiceDeps, 'store' | 'codes' | 'now'>

const ALL = Number.MAX_SAFE_INTEGER

/** The messages that match, newest first, with the results of scans that end within a short time. */
export async function listMatching(
  deps: FilterDeps,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  { filter, sinceId, limit }: MessagePage & { filter: MailFilter },
): Promise<{ session: Session; messages: MessageSummary[] }> {
  const { store, codes } = deps
  const all = await store.listMessages(session.id, { sinceId, limit: ALL })
  const possible = all.filter((message) => matchesFilter(filter, message) !== false)
  const wanted = filter.hasCode ? possible : possible.slice(0, limit)
  const matching = (messages: readonly MessageSummary[]) =>
    messages.filter((message) => matchesFilter(filter, message)).slice(0, limit)
  if (!(await codes.scan(session.id, wanted)?.found())) {
    return { session, messages: matching(possible) }
  }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const again = await store.listMessages(current.id, { sinceId, limit: ALL })
  return { session: current, messages: matching(again) }
}

/** True once there is a matching message newer than `sinceId`. Each message is tested once; again when it has been scanned. */
export function matchTest(
  { codes }: Pick<ServiceDeps, 'codes'>,
  filter: MailFilter,
  sinceId: number,
): (state: MailboxState) => Promise<boolean> {
  let testedUpTo = sinceId
  let undecided: ReadonlySet<number> = new Set()
  let version = -1

  return async ({ session, newerThan }) => {
    if (session.version === version) return false
    const oldest = Math.min(testedUpTo, ...[...undecided].map((id) => id - 1))
    const messages = (await newerThan(oldest)).filter(
      ({ id }) => id > testedUpTo || undecided.has(id),
    )
    testedUpTo = Math.max(testedUpTo, messages[0]?.id ?? 0)
    const { yes = [], unknown = [] } = Object.groupBy(messages, (message) => {
      const isMatch = matchesFilter(filter, message)
      return isMatch === undefined ? 'unknown' : isMatch ? 'yes' : 'no'
    })
    undecided = new Set(unknown.map(({ id }) => id))
    // A message for which the queue has no room is requested again by the next poll.
    const isComplete = codes.scan(session.id, unknown)?.complete ?? true
    version = isComplete ? session.version : -1
    return yes.length > 0
  }
}

/**
 * The changes that a stream with this filter reports. A message that is found to have a code only later is then reported as
 * new, also one that was there when the stream started (`unscanned`). Until then, clients resume before it, and may get newer
 * messages again.
 */
export function changeFilter(
  filter: MailFilter,
  sinceId: number,
  unscanned: ReadonlySet<number> = new Set(),
): (change: MailChange) => MailChange | undefined {
  const reported = new Set<number>()
  const undecided = new Set<number>()
  const isKnown = (id: number) => id <= sinceId && !(filter.hasCode && unscanned.has(id))
  let newest = sinceId

  return (change) => {
    if (change.kind === 'deleted') {
      const { id } = change
      undecided.delete(id)
      // The client may know older messages from a former stream.
      return reported.delete(id) || id <= sinceId ? change : undefined
    }
    const { kind, message } = change
    const { id } = message
    newest = Math.max(newest, id)
    const isMatch = matchesFilter(filter, message)
    if (isMatch === undefined) undecided.add(id)
    else undecided.delete(id)
    if (!isMatch) return undefined
    if (kind === 'updated' && (isKnown(id) || reported.has(id))) return change
    reported.add(id)
    const resumeAfter = Math.min(newest, ...[...undecided].map((one) => one - 1))
    // The same object for all streams if possible: it is formatted once.
    return kind === 'message' && resumeAfter === id
      ? change
      : { kind: 'message', message, resumeAfter }
  }
}

interface SearchRequest extends MessagePage {
  search: SearchText
  filter: MailFilter | undefined
  client: string | undefined
  signal: AbortSignal
}

const SEARCH_MS = 2_000
// Two processes parse; more reads at once would only use memory.
const AT_ONCE = 4

/**
 * The messages whose sender, subject or text contains the search text, newest first. Incomplete if some of them could not be
 * parsed and read in time; parsing continues.
 */
export async function searchMail(
  { store, codes, parsed }: Pick<ServiceDeps, 'store' | 'codes' | 'parsed'>,
  { session, throwIfClosed = () => {} }: Omit<FoundMailbox, 'token'>,
  { search, filter, sinceId, limit, client, signal }: SearchRequest,
): Promise<{ session: Session; messages: MessageSummary[]; incomplete: boolean }> {
  const all = await store.listMessages(session.id, { sinceId, limit: ALL })
  codes.scan(session.id, all)
  const hits: MessageSummary[] = []
  const undecided = new Set<Message>()
  for (const message of all) {
    const isFiltered = filter ? matchesFilter(filter, message) : true
    if (isFiltered === false) continue
    if (isFiltered && isInSummary(search, message)) hits.push(message)
    else undecided.add(message)
  }
  const timeout = new AbortController()
  const ended = AbortSignal.any([signal, timeout.signal])
  const isListed = ({ id }: Message) => hits.filter((hit) => hit.id > id).length < limit

  async function examine(message: Message): Promise<void> {
    const { rawId, recipient: mailbox, size } = message
    const mail = await parsed(rawId, { client, mailbox, size, signal: ended })
    // Deleted, or moved to another partition.
    if (!mail) return
    const found = { ...message, ...scanResult(mail) }
    const isMatch =
      (!filter || matchesFilter(filter, found)) &&
      (isInSummary(search, found) || isInText(search, mail.text ?? ''))
    if (isMatch !== undefined) undecided.delete(message)
    if (isMatch) hits.push(found)
  }

  function throwUnlessLate(error: unknown): void {
    const isOverload = error instanceof Problem && error.code === 'overloaded'
    if (!isOverload && !timeout.signal.aborted) throw error
  }

  // Those that need not be parsed first, so that they do not wait for slow ones.
  const queue = [...undecided].sort((a, b) => Number(isScanned(b)) - Number(isScanned(a))).values()
  async function examineNext(): Promise<void> {
    for (const message of queue) {
      if (ended.aborted) return
      if (isListed(message)) await examine(message).catch(throwUnlessLate)
      // Reads of small mails do not yield to other requests by themselves.
      await nextTurn()
    }
  }
  try {
    await withTimeout(SEARCH_MS, Promise.all(Array.from({ length: AT_ONCE }, examineNext)))
  } finally {
    timeout.abort()
  }
  throwIfClosed()
  const ids = new Set(await store.listMessageIds(session.id))
  const messages = hits.filter(({ id }) => ids.has(id)).sort((a, b) => b.id - a.id)
  const incomplete = [...undecided].some((message) => ids.has(message.id) && isListed(message))
  return { session, messages: messages.slice(0, limit), incomplete }
}
