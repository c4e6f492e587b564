import type { Bus } from '../bus/bus.ts'
import type { MessageSummary } from '../core/message.ts'
import type { Session } from '../core/session.ts'
import type { MailStore, Page } from '../store/store.ts'
import { type LiveSessionNeeds, liveSession } from './live-session.ts'
import { lookUntil } from './watch.ts'

export interface AwaitMailNeeds extends LiveSessionNeeds {
  store: Pick<MailStore, 'findSession' | 'listMessages'>
  bus: Pick<Bus, 'subscribe'>
}

interface Wait {
  token: string
  /** What was found before it came to waiting. */
  session: Session
  seconds: number
  /** True when this state of the mailbox is worth an answer. */
  worth(session: Session): boolean | Promise<boolean>
  signal: AbortSignal
  /** How often to look without being woken. */
  lookMs: number
}

/** What is in the mailbox, newest first. The session was found live by the same request. */
export async function listMail(
  { store }: Pick<AwaitMailNeeds, 'store'>,
  session: Session,
  page: Page,
): Promise<MessageSummary[]> {
  return await store.listMessages(session.id, page)
}

/** Waits until the mailbox is worth an answer or the time is over. Throws when the session ends meanwhile. */
export async function awaitMail(
  needs: AwaitMailNeeds,
  { token, session, seconds, worth, signal, lookMs }: Wait,
): Promise<{ session: Session; timedOut: boolean }> {
  const watching = { mailboxes: [session.id], seconds, signal, lookMs }
  return await lookUntil(needs.bus, watching, async (over) => {
    const current = await liveSession(needs, token)
    const found = await worth(current)
    return found || over ? { session: current, timedOut: !found } : undefined
  })
}

/** True when a message newer than this one is there. */
export async function hasNewer(
  { store }: Pick<AwaitMailNeeds, 'store'>,
  session: Session,
  sinceId: number,
): Promise<boolean> {
  if (session.count === 0 || session.lastId <= sinceId) return false
  // The newest may have been deleted, so its id alone proves nothing.
  return (await store.listMessages(session.id, { sinceId, limit: 1 })).length > 0
}
