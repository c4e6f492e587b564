import { Problem, type ProblemCode, StoreUnavailable } from '../../base/problem.ts'
import type { MailDeps } from '../deps.ts'
import { type MailFilter, matchesFilter, needsScan } from '../rules/filter.ts'
import { isScanned, type MessageSummary } from '../rules/message.ts'
import { sessionExpired } from '../sessions/session.ts'
import { type MailboxView, mailboxPollSource, type WatchedMailbox } from './mailbox-view.ts'

type MailEventsDeps = Pick<MailDeps, 'store' | 'now' | 'codes' | 'steps' | 'mailboxPolls'>

export type MailEvent =
  | MailChange
  | { kind: 'end'; reason: EndReason }
  /** Heartbeat. */
  | { kind: 'beat' }

export type EndReason = 'expired' | 'deleted'

type MailChange =
  /** `resumeAfter`: up to where the client need not be told again. */
  | { kind: 'message'; message: MessageSummary; resumeAfter: number }
  /** A message that the client knew before it was scanned. */
  | { kind: 'updated'; message: MessageSummary }
  | { kind: 'deleted'; id: number }

interface EventStreamRequest extends WatchedMailbox {
  /** The client knows messages up to this one. */
  sinceId: number
  /** Only messages that match are reported. */
  filter?: MailFilter | undefined
  /** Rate-limit key; undefined if rate limits do not apply. */
  client?: string | undefined
  /** The client reconnects, and may have missed something. */
  resumes: boolean
  heartbeatMs: number
}

/** What a stream has told its client. */
interface EventStream {
  deps: MailEventsDeps
  request: EventStreamRequest
  /** All ids at the last poll, shared by the streams of a mailbox. The client knows those up to sinceId. */
  ids: ReadonlySet<number>
  /** Reported by this stream. */
  known: Set<number>
  /** Not known, although they are not newer than sinceId. */
  unknown: Set<number>
  /** Reported once they are scanned, or have turned out to match. */
  unscanned: Set<number>
  lastId: number
  /** Version of the mailbox; undefined before the first poll. */
  version: number | undefined
}

/**
 * The events of a mailbox from now on, in order, until its session ends. Throws the signal's reason when aborted. While the
 * store is unavailable, the stream stays open and then catches up: a browser does not reconnect to a stream that was refused.
 */
export async function openMailEvents(
  deps: MailEventsDeps,
  request: EventStreamRequest,
): Promise<AsyncGenerator<MailEvent>> {
  const { session, sinceId: lastId } = request
  // Read before the first poll: a deletion in between is reported, too.
  const ids = await deps.store.listMessageIds(session.id).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return []
    throw error
  })
  return mailEvents({
    ...{ deps, request, ids: new Set(ids), lastId, version: undefined },
    ...{ known: new Set(), unknown: new Set(), unscanned: new Set() },
  })
}

async function* mailEvents(stream: EventStream): AsyncGenerator<MailEvent> {
  const { deps, request } = stream
  const views = deps.mailboxPolls.subscribe(mailboxPollSource(deps, request))
  let beatAt = performance.now() + request.heartbeatMs
  try {
    for (;;) {
      try {
        const view = await views.next(beatAt - performance.now())
        if (view) yield* changes(stream, view)
      } catch (error) {
        // A read without subscribers fails with an error of its own.
        if (!(error instanceof Problem)) request.signal.throwIfAborted()
        const reason = endReason(error)
        if (reason) {
          yield { kind: 'end', reason }
          return
        }
      }
      if (performance.now() < beatAt) continue
      beatAt = performance.now() + request.heartbeatMs
      yield { kind: 'beat' }
    }
  } finally {
    views.end()
  }
}

/** How the session ended; undefined if the store is unavailable. Throws any other error. */
function endReason(error: unknown): EndReason | undefined {
  const reason = error instanceof Problem ? END_REASONS[error.code] : undefined
  if (!reason && !(error instanceof StoreUnavailable)) throw error
  return reason
}

export const END_REASONS: Partial<Record<ProblemCode, EndReason>> = {
  session_expired: 'expired',
  invalid_token: 'deleted',
}

async function* changes(stream: EventStream, view: MailboxView): AsyncGenerator<MailChange> {
  const { version, id } = view.session
  // A revived session has a new mailbox: this one has ended.
  if (id !== stream.request.session.id) throw sessionExpired()
  if (version === stream.version) return
  if (stream.version === undefined) await start(stream, view)
  stream.version ??= -1
  yield* reportDeletions(stream, view)
  yield* reportScanned(stream, view)
  yield* reportNew(stream, view)
  stream.version = version
}

// Longer than it takes to find a code, and than most interruptions.
const RECENT_MS = 5 * 60_000

/** Also the newest unscanned messages that the client already knows are scanned, since somebody watches the mailbox. */
async function start({ deps, request, ...stream }: EventStream, view: MailboxView): Promise<void> {
  const { sinceId, filter, resumes } = request
  // A client that reconnects is told again about recent messages: a code may have been found meanwhile.
  const recentSince = resumes ? deps.now().getTime() - RECENT_MS : Number.POSITIVE_INFINITY
  for (const message of await view.newest()) {
    const { id, receivedAt } = message
    if (id > sinceId || (isScanned(message) && receivedAt.getTime() < recentSince)) continue
    stream.unscanned.add(id)
    // Reported as new once it has a code or link. Up to where a client resumes, every message was scanned.
    if (filter && needsScan(filter) && !resumes && !isScanned(message)) stream.unknown.add(id)
  }
}

async function* reportDeletions(
  stream: EventStream,
  view: MailboxView,
): AsyncGenerator<MailChange> {
  const { request, ids, known, unscanned } = stream
  const current = await view.ids()
  // Those that arrived since the last poll may be in the smaller sets only.
  const gone = [ids, known, unscanned].flatMap((some) => [...some.difference(current)])
  for (const id of new Set(gone)) {
    unscanned.delete(id)
    // The client may know older messages from a list.
    if (known.delete(id) || id <= request.sinceId) yield { kind: 'deleted', id }
  }
  stream.ids = current
}

async function* reportScanned(stream: EventStream, view: MailboxView): AsyncGenerator<MailChange> {
  const { deps, unscanned } = stream
  if (unscanned.size === 0) return
  const newer = await view.newerThan(Math.min(...unscanned) - 1)
  const messages = newer.filter(({ id }) => unscanned.has(id))
  // All of them at first; later those for which the queue had no room.
  deps.codes.scan(view.session.id, messages)
  yield* report(stream, messages.filter(isScanned))
}

async function* reportNew(stream: EventStream, view: MailboxView): AsyncGenerator<MailChange> {
  const { deps, lastId } = stream
  if (view.session.lastId <= lastId) return
  yield* report(stream, await view.scannedNewerThan(lastId, deps.codes))
}

async function* report(
  stream: EventStream,
  newestFirst: readonly MessageSummary[],
): AsyncGenerator<MailChange> {
  const { known, unscanned } = stream
  for (const message of newestFirst.toReversed()) {
    const { id } = message
    const matches = await matchesStream(stream, message)
    stream.lastId = Math.max(stream.lastId, id)
    if (matches === false || isScanned(message)) unscanned.delete(id)
    else unscanned.add(id)
    if (!matches) continue
    const wasKnown = isKnown(stream, id)
    known.add(id)
    if (wasKnown) yield { kind: 'updated', message }
    else yield { kind: 'message', message, resumeAfter: resumeAfter(stream) }
  }
}

/** Undefined until the message is scanned, if that decides: until then it is not reported, and clients resume before it. */
async function matchesStream({ deps, request }: EventStream, message: MessageSummary) {
  const { filter, client, session } = request
  if (!filter) return true
  // A step each: a stream may start with all messages of a mailbox.
  const step = { client, mailbox: session.id }
  return await deps.steps.step(step, () => matchesFilter(filter, message))
}

function isKnown({ request, known, unknown }: EventStream, id: number): boolean {
  return known.has(id) || (id <= request.sinceId && !unknown.has(id))
}

/** Before the messages that are not decided yet: a client that reconnects may get newer ones again. */
function resumeAfter(stream: EventStream): number {
  const { request, unscanned, lastId } = stream
  const undecided =
    request.filter && needsScan(request.filter)
      ? [...unscanned].filter((id) => !isKnown(stream, id))
      : []
  return Math.min(lastId, ...undecided.map((id) => id - 1))
}
