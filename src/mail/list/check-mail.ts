import type { Rate } from '../../limit/limit.ts'
import type { MailDeps } from '../deps.ts'
import type { MessageSummary } from '../rules/message.ts'
import { accountTopic, type Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { MessagePage } from '../store.ts'
import {
  type MailboxView,
  mailboxPollSource,
  newerTest,
  type WatchedMailbox,
} from './mailbox-view.ts'
import { pollUntil } from './shared-poll.ts'

interface MailList {
  /** As it was before the list was read. */
  session: Session
  /** Newest first. */
  messages: MessageSummary[]
  /** False: some messages were not queued for scanning and must be listed again. */
  complete: boolean
}

interface Wait extends WatchedMailbox {
  seconds: number
  /** True if this state of the mailbox ends the wait. */
  isDone(state: MailboxState): boolean | Promise<boolean>
}

/** The mailbox of a request. */
export interface FoundMailbox {
  token: string
  session: Session
  /** Throws if the client has left. */
  throwIfClosed?(): void
}

/** The messages of the mailbox, with the results of scans that end within a short time. The session is known to be live. */
export async function listMail(
  deps: Pick<MailDeps, 'store' | 'codes' | 'now'>,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  page: MessagePage,
): Promise<MailList> {
  const { store, codes } = deps
  const messages = await store.listMessages(session.id, page)
  const scan = codes.scan(session.id, messages)
  if (!scan) return { session, messages, complete: true }
  if (!(await scan.found())) return { session, messages, complete: scan.complete }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const again = await store.listMessages(current.id, page)
  // Messages that arrived meanwhile are scanned without waiting.
  const rest = codes.scan(current.id, again)
  return { session: current, messages: again, complete: rest?.complete ?? true }
}

/** Scans the newest messages, since an earlier response may have been sent before they were. False as in MailList. */
export async function scanNewest(
  { store, codes }: Pick<MailDeps, 'store' | 'codes'>,
  session: Session,
  limit: number,
): Promise<boolean> {
  if (session.count === 0) return true
  const messages = await store.listMessages(session.id, { sinceId: 0, limit })
  return codes.scan(session.id, messages)?.complete ?? true
}

export type MailboxState = Pick<MailboxView, 'session' | 'hasNewer' | 'newerThan'>

/** Waits until `isDone` or the timeout. Throws if the session ends meanwhile. */
export async function awaitMail(
  deps: Pick<MailDeps, 'store' | 'now' | 'mailboxPolls'>,
  { seconds, isDone, ...watched }: Wait,
): Promise<{ session: Session; timedOut: boolean }> {
  const wanted = { ...mailboxPollSource(deps, watched), seconds }
  return await pollUntil(deps.mailboxPolls, wanted, async (view, over) => {
    const found = await isDone(view)
    return found || over ? { session: view.session, timedOut: !found } : undefined
  })
}

/** The mailbox as a request found it, before waiting. */
export function mailboxState({ store }: Pick<MailDeps, 'store'>, session: Session): MailboxState {
  const list = (sinceId: number, limit: number) =>
    store.listMessages(session.id, { sinceId, limit })
  return {
    session,
    hasNewer: newerTest(session, (limit) => list(0, limit)),
    newerThan: (sinceId) => list(sinceId, Number.MAX_SAFE_INTEGER),
  }
}

// Protects the account, so it counts all clients and applies even without rate limits.
const FORCE_POLL_RATE: Rate = { count: 1, seconds: 3, burst: 1 }

/** Requests an immediate poll of the session's account, if it has one. Ignored if one was requested just now. */
export async function forcePoll(
  { bus, limit, now }: Pick<MailDeps, 'bus' | 'limit' | 'now'>,
  { accountId }: Pick<Session, 'accountId'>,
): Promise<void> {
  if (accountId === undefined) return
  const wait = await limit.take(`gmail:look:${accountId}`, FORCE_POLL_RATE, now())
  if (wait === 0) bus.wake(accountTopic(accountId))
}
