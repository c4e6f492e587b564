import type { Bus } from '../../bus/bus.ts'
import type { MessageSummary } from '../../core/message.ts'
import { accountTopic, type Session } from '../../core/session.ts'
import type { Limit, Rate } from '../../limit/limit.ts'
import type { MailStore, Page } from '../../store/store.ts'
import { type LiveSessionDeps, liveSession } from '../sessions/live-session.ts'
import type { CodeLooks } from './code-lookup.ts'
import { type MailboxView, type MailboxViewDeps, mailboxViews, newerTest } from './mailbox-view.ts'
import { pollUntil, type SharedPolls } from './shared-poll.ts'

export interface AwaitMailDeps extends MailboxViewDeps {
  mailboxPolls: SharedPolls<MailboxView>
}

export interface ListMailDeps extends LiveSessionDeps {
  store: Pick<MailStore, 'findSession' | 'listMessages'>
  codes: Pick<CodeLooks, 'look'>
}

interface Listed {
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
  worth(state: MailboxState): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** What is in the mailbox, with the codes that are found in a little while. The session was found live by the same request. */
export async function listMail(
  deps: ListMailDeps,
  { token, session }: { token: string; session: Session },
  page: Page,
): Promise<Listed> {
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
export async function lookAtNewest(
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
  { seconds, worth, ...watched }: Wait,
): Promise<{ session: Session; timedOut: boolean }> {
  const wanted = { ...mailboxViews(deps, watched), seconds }
  return await pollUntil(deps.mailboxPolls, wanted, async (view, over) => {
    const found = await worth(view)
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

export interface ForceLookDeps {
  bus: Pick<Bus, 'wake'>
  limit: Pick<Limit, 'take'>
  now(): Date
}

// For the account's sake, so it counts whoever asks, and also where rates are lifted.
const LOOKS: Rate = { count: 1, seconds: 3, burst: 1 }

/** Asks whoever fetches the session's mail to look for it now, if it is fetched at all. Too often is no fault: somebody has just looked. */
export async function forceLook(
  { bus, limit, now }: ForceLookDeps,
  { accountId }: Pick<Session, 'accountId'>,
): Promise<void> {
  if (accountId === undefined) return
  const wait = await limit.take(`gmail:look:${accountId}`, LOOKS, now())
  if (wait === 0) bus.wake(accountTopic(accountId))
}
