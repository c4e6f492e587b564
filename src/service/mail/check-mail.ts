import type { Bus } from '../../bus/bus.ts'
import type { MessageSummary } from '../../core/message.ts'
import { accountTopic, type Session } from '../../core/session.ts'
import type { Limit, Rate } from '../../limit/limit.ts'
import type { MailStore, MessagePage } from '../../store/store.ts'
import { type LiveSessionDeps, liveSession } from '../sessions/session.ts'
import type { CodeScanner } from './code-scanner.ts'
import {
  type MailboxView,
  type MailboxViewDeps,
  mailboxPollSource,
  newerTest,
} from './mailbox-view.ts'
import { pollUntil, type SharedPolls } from './shared-poll.ts'

export interface AwaitMailDeps extends MailboxViewDeps {
  mailboxPolls: SharedPolls<MailboxView>
}

export interface ListMailDeps extends LiveSessionDeps {
  store: Pick<MailStore, 'findSession' | 'listMessages'>
  codes: Pick<CodeScanner, 'look'>
}

interface MailList {
  /** As it was before the list was made. */
  session: Session
  /** Newest first. */
  messages: MessageSummary[]
  /** False: some messages were not looked at and will not be unless they are listed again. */
  whole: boolean
}

interface Wait {
  token: string
  /** What was found before it came to waiting. */
  session: Session
  seconds: number
  /** True when this state of the mailbox is worth an answer. */
  isDone(state: MailboxState): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** What is in the mailbox, with the codes that are found in a little while. The session was found live by the same request. */
export async function listMail(
  deps: ListMailDeps,
  { token, session }: { token: string; session: Session },
  page: MessagePage,
): Promise<MailList> {
  const { store, codes } = deps
  const messages = await store.listMessages(session.id, page)
  const looking = codes.look(session.id, messages)
  if (!looking) return { session, messages, whole: true }
  if (!(await looking.found())) return { session, messages, whole: looking.whole }
  const current = await liveSession(deps, token)
  const again = await store.listMessages(current.id, page)
  // For what came meanwhile nobody waits once more.
  const rest = codes.look(current.id, again)
  return { session: current, messages: again, whole: rest?.whole ?? true }
}

/** Has the newest messages looked at, where a former answer may have been given before they were. False as in a list. */
export async function scanNewest(
  { store, codes }: ListMailDeps,
  session: Session,
  limit: number,
): Promise<boolean> {
  if (session.count === 0) return true
  const messages = await store.listMessages(session.id, { sinceId: 0, limit })
  return codes.look(session.id, messages)?.whole ?? true
}

/** What decides whether a wait is over. */
export type MailboxState = Pick<MailboxView, 'session' | 'hasNewer'>

/** Waits until the mailbox is worth an answer or the time is over. Throws when the session ends meanwhile. */
export async function awaitMail(
  deps: AwaitMailDeps,
  { seconds, isDone, ...watched }: Wait,
): Promise<{ session: Session; timedOut: boolean }> {
  const wanted = { ...mailboxPollSource(deps, watched), seconds }
  return await pollUntil(deps.mailboxPolls, wanted, async (view, over) => {
    const found = await isDone(view)
    return found || over ? { session: view.session, timedOut: !found } : undefined
  })
}

/** The mailbox as a request found it, before it waits. */
export function mailboxState(
  { store }: { store: Pick<MailStore, 'listMessages'> },
  session: Session,
): MailboxState {
  const newest = (limit: number) => store.listMessages(session.id, { sinceId: 0, limit })
  return { session, hasNewer: newerTest(session, newest) }
}

export interface ForcePollDeps {
  bus: Pick<Bus, 'wake'>
  limit: Pick<Limit, 'take'>
  now(): Date
}

// For the account's sake, so it counts whoever asks, and also where rates are lifted.
const FORCE_POLL_RATE: Rate = { count: 1, seconds: 3, burst: 1 }

/** Asks whoever fetches the session's mail to look for it now, if it is fetched at all. Too often is no fault: somebody has just looked. */
export async function forcePoll(
  { bus, limit, now }: ForcePollDeps,
  { accountId }: Pick<Session, 'accountId'>,
): Promise<void> {
  if (accountId === undefined) return
  const wait = await limit.take(`gmail:look:${accountId}`, FORCE_POLL_RATE, now())
  if (wait === 0) bus.wake(accountTopic(accountId))
}
