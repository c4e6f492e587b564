import type { Rate } from '../../limit/limit.ts'
import type { MailDeps } from '../deps.ts'
import type { Message } from '../rules/message.ts'
import { accountTopic, type Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { MessagePage } from '../store.ts'
import { mailboxPollSource, type WatchedMailbox } from './mailbox-view.ts'
import { pollUntil } from './shared-poll.ts'

interface MailList {
  /** As it was before the list was read. */
  session: Session
  /** Newest first. */
  messages: Message[]
  /** False: some messages were not queued for scanning and must be listed again. */
  complete: boolean
}

interface Wait extends WatchedMailbox {
  seconds: number
  /** True if this state of the session ends the wait. */
  isDone(session: Session): boolean | Promise<boolean>
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
  const { codes } = deps
  const messages = await listFor(deps, { token, session, throwIfClosed }, page)
  const scan = codes.scan(session.id, messages)
  if (!scan) return { session, messages, complete: true }
  if (!(await scan.found())) return { session, messages, complete: scan.complete }
  throwIfClosed()
  const current = await liveSession(deps, token)
  throwIfClosed()
  const again = await listFor(deps, { token, session: current, throwIfClosed }, page)
  // Messages that arrived meanwhile are scanned without waiting.
  const rest = codes.scan(current.id, again)
  return { session: current, messages: again, complete: rest?.complete ?? true }
}

/** The messages of the mailbox. If some have arrived since the session was found, its token may have been replaced before them. */
export async function listFor(
  deps: Pick<MailDeps, 'store' | 'now'>,
  { token, session, throwIfClosed = () => {} }: FoundMailbox,
  page: MessagePage,
): Promise<Message[]> {
  const messages = await deps.store.listMessages(session.id, page)
  if (!messages.some(({ id }) => id > session.lastId)) return messages
  throwIfClosed()
  await liveSession(deps, token)
  return messages
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

/** Waits until `isDone` or the timeout. Throws if the session ends meanwhile. */
export async function awaitMail(
  deps: Pick<MailDeps, 'store' | 'now' | 'mailboxPolls'>,
  { seconds, isDone, ...watched }: Wait,
): Promise<{ session: Session; timedOut: boolean }> {
  const wanted = { ...mailboxPollSource(deps, watched), seconds }
  return await pollUntil(deps.mailboxPolls, wanted, async ({ session }, over) => {
    const found = await isDone(session)
    return found || over ? { session, timedOut: !found } : undefined
  })
}

/** Whether there is a message newer than `sinceId`. */
export async function hasNewer(
  { store }: Pick<MailDeps, 'store'>,
  { id, lastId }: Session,
  sinceId: number,
): Promise<boolean> {
  // The newest may have been deleted, so its id alone proves nothing.
  return lastId > sinceId && (await store.listMessages(id, { sinceId, limit: 1 })).length > 0
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
