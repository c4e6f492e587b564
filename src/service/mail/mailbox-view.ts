import type { MessageSummary } from '../../core/message.ts'
import type { Session } from '../../core/session.ts'
import type { MailStore } from '../../store/store.ts'
import { type LiveSessionDeps, liveSession } from '../sessions/session.ts'
import type { CodeScanner } from './code-scanner.ts'
import type { PollSource } from './shared-poll.ts'

export interface MailboxViewDeps extends LiveSessionDeps {
  store: Pick<MailStore, 'findSession' | 'listMessages' | 'listMessageIds'>
}

/** Looks up codes for the client of one subscriber: those who share a view are not charged for each other. */
export type ClientScanner = Pick<CodeScanner, 'look'>

/**
 * A mailbox as one poll found it. All who wait for news of the mailbox share it: each list is read at most once, when the
 * first of them asks for it.
 */
export interface MailboxView {
  session: Session
  /** True if there is a message newer than this one. */
  hasNewer(sinceId: number): Promise<boolean>
  /** What a reader knows who has the messages up to `sinceId`. */
  initialState(reader: { sinceId: number; youngSince: number }): Promise<KnownState>
  /** Deletions, and codes found since, oldest first. */
  changed(seen: KnownState, codes: ClientScanner): Promise<Step>
  /** New messages, oldest first. */
  arrived(seen: KnownState, codes: ClientScanner): Promise<Step>
}

/** What a reader knows. Never changed: readers who know the same share one, and with it the work of comparing. */
export interface KnownState {
  readonly version: number
  readonly lastId: number
  readonly ids: ReadonlySet<number>
  /** Those that nobody has looked at, as far as the reader was told. */
  readonly unlooked: ReadonlySet<number>
}

export type MailChange =
  | { kind: 'message'; message: MessageSummary }
  /** A code was found in a message that the reader knows without. */
  | { kind: 'updated'; message: MessageSummary }
  | { kind: 'deleted'; id: number }

interface Step {
  events: readonly MailChange[]
  /** What the reader knows once it was told. */
  seen: KnownState
}

/** What to subscribe to for views of this mailbox. */
export function mailboxPollSource(
  deps: MailboxViewDeps,
  { token, session, lookMs, signal }: Watched,
): PollSource<MailboxView> {
  const open: PollSource<MailboxView>['open'] = (left) => {
    const intern = stateInterner()
    return async () => viewOf(deps, await liveSession(deps, token), { left, intern })
  }
  // A revived session keeps its token but is another mailbox, with a topic of its own.
  return { key: `${session.id} ${token}`, topics: [session.id], open, intervalMs: lookMs, signal }
}

interface Watched {
  token: string
  session: Session
  /** How often to look without being woken. */
  lookMs: number
  signal: AbortSignal
}

interface ViewContext {
  /** Aborted when nobody waits any more. */
  left: AbortSignal
  intern(seen: KnownState): KnownState
}

// As many as a list shows.
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

function viewOf(deps: MailboxViewDeps, session: Session, sharing: ViewContext): MailboxView {
  const { newest, ids, lookedAt, newMessages } = mailboxReader(deps, session, sharing.left)
  return {
    session,
    hasNewer: newerTest(session, newest),
    // Of what the reader knows, the newest which nobody has looked at will be looked at: somebody watches the mailbox.
    async initialState({ sinceId, youngSince }) {
      const known = (await newest(RECENT_MESSAGES)).filter(({ id }) => id <= sinceId)
      const untold = known.filter((one) => isUnscanned(one) || +one.receivedAt >= youngSince)
      return { version: -1, lastId: sinceId, ids: new Set(), unlooked: idSet(untold) }
    },
    changed: memoized(async (seen, codes) => {
      const there = await ids('ids')
      const gone = [...seen.ids].filter((id) => !there.has(id))
      const { unlooked, found } = await lookedAt(seen, codes)
      const events = [
        ...gone.map((id) => ({ kind: 'deleted' as const, id })),
        ...found.map((message) => ({ kind: 'updated' as const, message })),
      ]
      const known = gone.length === 0 ? seen.ids : seen.ids.difference(new Set(gone))
      return { events, seen: { ...seen, ids: known, unlooked } }
    }),
    arrived: memoized(async (seen, codes) => {
      const there = await ids('ids')
      const messages = await newMessages(seen.lastId, codes)
      // Of what came or went between the reads, the next poll tells: it was told as a message first.
      const known = [...there].filter((id) => id <= seen.lastId)
      const next: KnownState = {
        version: session.version,
        lastId: messages[0]?.id ?? seen.lastId,
        ids: new Set([...known, ...idSet(messages)]),
        unlooked: seen.unlooked.union(idSet(messages.filter(isUnscanned))),
      }
      const events = messages.map((message) => ({ kind: 'message' as const, message })).toReversed()
      return { events, seen: sharing.intern(next) }
    }),
  }
}

/** What a view reads of the mailbox: each list once. Nothing more is read when nobody waits any more. */
function mailboxReader({ store }: MailboxViewDeps, session: Session, left: AbortSignal) {
  const list = async (sinceId: number, limit: number) => {
    left.throwIfAborted()
    return await store.listMessages(session.id, { sinceId, limit })
  }
  const after = memoized((sinceId: number) => list(sinceId, Number.MAX_SAFE_INTEGER))

  return {
    newest: memoized((limit: number) => list(0, limit)),
    ids: memoized(async (_all: 'ids') => {
      left.throwIfAborted()
      return new Set(await store.listMessageIds(session.id))
    }),
    /** Those in which a code has been found since, oldest first. */
    async lookedAt({ unlooked }: KnownState, codes: ClientScanner) {
      if (unlooked.size === 0) return { unlooked, found: [] }
      const told = (await after(Math.min(...unlooked) - 1)).filter(({ id }) => unlooked.has(id))
      // At first all of them; later there may be room for those that were not taken on.
      codes.look(session.id, told)
      const found = told.filter(({ code = '' }) => code !== '').toReversed()
      return { unlooked: idSet(told.filter(isUnscanned)), found }
    },
    /** Newest first, with the codes that are found in a little while. */
    async newMessages(sinceId: number, codes: ClientScanner): Promise<readonly MessageSummary[]> {
      const messages = await after(sinceId)
      if (!(await codes.look(session.id, messages)?.found())) return messages
      // What came meanwhile has its own little while: the next poll tells of it.
      const known = idSet(messages)
      const again = await list(sinceId, Number.MAX_SAFE_INTEGER)
      return again.filter(({ id }) => known.has(id))
    },
  }
}

/** Gives readers who know the same the same object, so that the next poll compares once for all of them. */
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
    isSameSet(one.unlooked, other.unlooked) &&
    isSameSet(one.ids, other.ids)
  )
}

function isSameSet(one: ReadonlySet<number>, other: ReadonlySet<number>): boolean {
  return one.size === other.size && one.isSubsetOf(other)
}

/** Whatever else a caller passes, the first one's counts. */
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

function isUnscanned({ code }: MessageSummary): boolean {
  return code === undefined
}

function idSet(messages: readonly MessageSummary[]): Set<number> {
  return new Set(messages.map(({ id }) => id))
}
