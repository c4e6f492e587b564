import type { CodeScanner } from '../read/code-scanner.ts'
import type { MessageSummary } from '../rules/message.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { MailStore } from '../store.ts'
import type { PollSource } from './shared-poll.ts'

/** A mailbox as one poll found it, shared by all its subscribers: each list is read at most once, when the first of them needs it. */
export interface MailboxView {
  session: Session
  ids(): Promise<ReadonlySet<number>>
  /** As many as a list returns, newest first. */
  newest(): Promise<readonly MessageSummary[]>
  /** Newest first. */
  newerThan(sinceId: number): Promise<readonly MessageSummary[]>
  /** The same with the results of scans that end within a short time. The client of the first caller is charged. */
  scannedNewerThan(
    sinceId: number,
    codes: Pick<CodeScanner, 'scan'>,
  ): Promise<readonly MessageSummary[]>
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

export function mailboxPollSource(
  deps: { store: MailStore; now(): Date },
  { token, session, pollMs, signal }: WatchedMailbox,
): PollSource<MailboxView> {
  const findSession = () => liveSession(deps, token)
  const poll = async (throwIfLeft: () => void) =>
    viewOf(deps.store, await findSession(), { throwIfLeft, findSession })
  // A revived session keeps its token but has a new mailbox, with another topic.
  return { key: `${session.id} ${token}`, topics: [session.id], poll, intervalMs: pollMs, signal }
}

const RECENT_MESSAGES = 100

interface Watching {
  throwIfLeft(): void
  findSession(): Promise<Session>
}

function viewOf(
  store: MailStore,
  session: Session,
  { throwIfLeft, findSession }: Watching,
): MailboxView {
  /** A client may hold back its stream for long. What it then reads was there before its token ended, or is not sent. */
  const read = async <T>(rows: () => Promise<T>): Promise<T> => {
    throwIfLeft()
    const found = await rows()
    throwIfLeft()
    await findSession()
    return found
  }
  const list = (sinceId: number, limit = Number.MAX_SAFE_INTEGER) =>
    read(() => store.listMessages(session.id, { sinceId, limit }))
  const newerThan = memoized((sinceId: number) => list(sinceId))

  return {
    session,
    ids: memoized(async () => new Set(await read(() => store.listMessageIds(session.id)))),
    newest: memoized(() => list(0, RECENT_MESSAGES)),
    newerThan,
    scannedNewerThan: memoized(async (sinceId: number, codes: Pick<CodeScanner, 'scan'>) => {
      const messages = await newerThan(sinceId)
      if (!(await codes.scan(session.id, messages)?.found())) return messages
      // Messages that arrived meanwhile are reported by the next poll.
      const known = new Set(messages.map(({ id }) => id))
      return (await list(sinceId)).filter(({ id }) => known.has(id))
    }),
  }
}

/** Caches by the first argument; the other arguments of the first caller are used. */
function memoized<Args extends unknown[], Value>(
  read: (...args: Args) => Promise<Value>,
): (...args: Args) => Promise<Value> {
  const known = new Map<unknown, Promise<Value>>()
  return (...args) => {
    const value = known.get(args[0]) ?? read(...args)
    known.set(args[0], value)
    return value
  }
}
