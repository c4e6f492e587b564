import type { MailDeps } from '../deps.ts'
import { isScanned, type MessageSummary } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { PollSource } from './shared-poll.ts'

type MailboxViewDeps = Pick<MailDeps, 'store' | 'now'>

/** Scans on behalf of one subscriber's client: subscribers that share a view are not charged for each other. */
type ClientScanner = MailDeps['codes']

/**
 * A mailbox as one poll found it, shared by all its subscribers: each list is read at most once, when the first of them needs
 * it.
 */
export interface MailboxView {
  session: Session
  /** True if there is a message newer than this one. */
  hasNewer(sinceId: number): Promise<boolean>
  /** Newest first. */
  newerThan(sinceId: number): Promise<readonly MessageSummary[]>
  /** The state of a client that has the messages up to `sinceId`. */
  initialState(reader: { sinceId: number; youngSince: number }): Promise<KnownState>
  /** Deletions, and messages scanned since, oldest first. */
  changed(seen: KnownState, codes: ClientScanner): Promise<Step>
  /** New messages, oldest first. */
  arrived(seen: KnownState, codes: ClientScanner): Promise<Step>
}

/** What a client knows. Immutable: clients that know the same share one object, and with it the work of comparing. */
export interface KnownState {
  readonly version: number
  readonly lastId: number
  readonly ids: ReadonlySet<number>
  /** Messages that were not scanned yet, as far as the client knows. */
  readonly unscanned: ReadonlySet<number>
}

export type MailChange =
  /** `resumeAfter`: up to where the client need not be told again; default: this message. */
  | { kind: 'message'; message: MessageSummary; resumeAfter?: number }
  /** A message that the client knew before it was scanned. */
  | { kind: 'updated'; message: MessageSummary }
  | { kind: 'deleted'; id: number }

interface Step {
  events: readonly MailChange[]
  /** What the client knows after these events. */
  seen: KnownState
}

export function mailboxPollSource(
  deps: MailboxViewDeps,
  { token, session, pollMs, signal }: WatchedMailbox,
): PollSource<MailboxView> {
  const open: PollSource<MailboxView>['open'] = (left) => {
    const intern = stateInterner()
    return async () => viewOf(deps, await liveSession(deps, token), { left, intern })
  }
  // A revived session keeps its token but has a new mailbox, with another topic.
  return { key: `${session.id} ${token}`, topics: [session.id], open, intervalMs: pollMs, signal }
}

/** A mailbox that is polled on behalf of a client. */
export interface WatchedMailbox {
  token: string
  /** As the request found it. */
  session: Session
  /** Poll interval without a wake. */
  pollMs: number
  signal: AbortSignal
}

// As many as a list returns.
const RECENT_MESSAGES = 100

/** True if the mailbox has a message newer than `sinceId`. */
export function newerTest(
  session: Session,
  newest: (limit: number) => Promise<MessageSummary[]>,
): MailboxView['hasNewer'] {
  return async (sinceId) => {
    if (session.count === 0 || session.lastId <= sinceId) return false
    // The newest may have been deleted, so its id alone proves nothing.
    const [message] = await newest(1)
    return message !== undefined && message.id > sinceId
  }
}

function viewOf(
  deps: MailboxViewDeps,
  session: Session,
  { left, intern }: { left: AbortSignal; intern(seen: KnownState): KnownState },
): MailboxView {
  const { newest, newerThan, ids, scanned, newMessages } = mailboxReader(deps, session, left)
  return {
    session,
    hasNewer: newerTest(session, newest),
    newerThan,
    // Also the newest unscanned messages that the client already knows are scanned, since somebody watches the mailbox.
    async initialState({ sinceId, youngSince }) {
      const known = (await newest(RECENT_MESSAGES)).filter(({ id }) => id <= sinceId)
      const pendingScan = known.filter((one) => isUnscanned(one) || +one.receivedAt >= youngSince)
      const before = [...(await ids('ids'))].filter((id) => id <= sinceId)
      const unscanned = idSet(pendingScan)
      return { version: -1, lastId: sinceId, ids: new Set(before), unscanned }
    },
    changed: memoized(async (seen, codes) => {
      const current = await ids('ids')
      const deleted = [...seen.ids].filter((id) => !current.has(id))
      const { unscanned, found } = await scanned(seen, codes)
      const events = [
        ...deleted.map((id) => ({ kind: 'deleted' as const, id })),
        ...found.map((message) => ({ kind: 'updated' as const, message })),
      ]
      const known = deleted.length === 0 ? seen.ids : seen.ids.difference(new Set(deleted))
      return { events, seen: { ...seen, ids: known, unscanned } }
    }),
    arrived: memoized(async (seen, codes) => {
      const current = await ids('ids')
      const messages = await newMessages(seen.lastId, codes)
      // Changes between the two reads are reported by the next poll, after the message itself.
      const known = [...current].filter((id) => id <= seen.lastId)
      const next: KnownState = {
        version: session.version,
        lastId: messages[0]?.id ?? seen.lastId,
        ids: new Set([...known, ...idSet(messages)]),
        unscanned: seen.unscanned.union(idSet(messages.filter(isUnscanned))),
      }
      const events = messages.map((message) => ({ kind: 'message' as const, message })).toReversed()
      return { events, seen: intern(next) }
    }),
  }
}

/** Reads each list of the mailbox once, and nothing more after the last subscriber has left. */
function mailboxReader({ store }: MailboxViewDeps, session: Session, left: AbortSignal) {
  const list = async (sinceId: number, limit: number) => {
    left.throwIfAborted()
    return await store.listMessages(session.id, { sinceId, limit })
  }
  const newerThan = memoized((sinceId: number) => list(sinceId, Number.MAX_SAFE_INTEGER))

  return {
    newest: memoized((limit: number) => list(0, limit)),
    newerThan,
    ids: memoized(async (_all: 'ids') => {
      left.throwIfAborted()
      return new Set(await store.listMessageIds(session.id))
    }),
    /** Messages that have been scanned since, oldest first. */
    async scanned({ unscanned }: KnownState, codes: ClientScanner) {
      if (unscanned.size === 0) return { unscanned, found: [] }
      const known = (await newerThan(Math.min(...unscanned) - 1)).filter(({ id }) =>
        unscanned.has(id),
      )
      // All of them at first; later those for which the queue had no room.
      codes.scan(session.id, known)
      const found = known.filter(isScanned).toReversed()
      return { unscanned: idSet(known.filter(isUnscanned)), found }
    },
    /** Newest first, with the results of scans that end within a short time. */
    async newMessages(sinceId: number, codes: ClientScanner): Promise<readonly MessageSummary[]> {
      const messages = await newerThan(sinceId)
      if (!(await codes.scan(session.id, messages)?.found())) return messages
      // Messages that arrived meanwhile are reported by the next poll.
      const known = idSet(messages)
      const again = await list(sinceId, Number.MAX_SAFE_INTEGER)
      return again.filter(({ id }) => known.has(id))
    },
  }
}

/** Returns the same object for equal states, so that the next poll compares once for all clients. */
function stateInterner(): (seen: KnownState) => KnownState {
  let last: KnownState | undefined
  return (seen) => {
    if (!last || !isSame(last, seen)) last = seen
    return last
  }
}

function isSame(one: KnownState, other: KnownState): boolean {
  return (
    one.version === other.version &&
    one.lastId === other.lastId &&
    isSameSet(one.unscanned, other.unscanned) &&
    isSameSet(one.ids, other.ids)
  )
}

function isSameSet(one: ReadonlySet<number>, other: ReadonlySet<number>): boolean {
  return one.size === other.size && one.isSubsetOf(other)
}

/** Caches by the first argument; the other arguments of the first caller are used. */
function memoized<Key, Value, Rest extends unknown[]>(
  make: (key: Key, ...rest: Rest) => Promise<Value>,
): (key: Key, ...rest: Rest) => Promise<Value> {
  const made = new Map<Key, Promise<Value>>()
  return (key, ...rest) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key, ...rest)
    made.set(key, value)
    return value
  }
}

function isUnscanned(message: MessageSummary): boolean {
  return !isScanned(message)
}

function idSet(messages: readonly MessageSummary[]): Set<number> {
  return new Set(messages.map(({ id }) => id))
}
