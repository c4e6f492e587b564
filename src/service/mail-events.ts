import type { Bus } from '../bus/bus.ts'
import type { MessageSummary } from '../core/message.ts'
import { Problem } from '../core/problem.ts'
import type { Session } from '../core/session.ts'
import type { MailStore } from '../store/store.ts'
import { type LiveSessionNeeds, liveSession } from './live-session.ts'
import { watchMailbox } from './watch.ts'

export interface MailEventsNeeds extends LiveSessionNeeds {
  store: Pick<MailStore, 'findSession' | 'listMessages' | 'listMessageIds'>
  bus: Pick<Bus, 'subscribe'>
}

export type MailEvent =
  | { kind: 'message'; message: MessageSummary }
  | { kind: 'deleted'; id: number }
  | { kind: 'end'; reason: 'expired' | 'deleted' }
  /** Nothing happened for a while. */
  | { kind: 'beat' }

interface Following {
  token: string
  session: Session
  /** Messages up to this one are known to the reader. */
  sinceId: number
  beatMs: number
  /** How often to look without being woken. */
  lookMs: number
  signal: AbortSignal
}

/** Tells what happens to a mailbox, in order, until its session ends. Throws the signal's reason once that is aborted. */
export async function* mailEvents(
  needs: MailEventsNeeds,
  { token, session, sinceId, beatMs, lookMs, signal }: Following,
): AsyncGenerator<MailEvent> {
  const watch = watchMailbox(needs.bus, { mailboxes: [session.id], signal, lookMs })
  let beatDue = false
  const beating = setInterval(() => {
    beatDue = true
    watch.poke()
  }, beatMs)
  const seen = { version: -1, lastId: sinceId, ids: new Set<number>() }

  try {
    for (;;) {
      const current = await stillLive(needs, token)
      // A revived session is another mailbox: this one is over.
      if (typeof current === 'string' || current.id !== session.id) {
        yield { kind: 'end', reason: typeof current === 'string' ? current : 'expired' }
        return
      }
      if (current.version !== seen.version) yield* changes(needs, current, seen)
      if (beatDue) yield { kind: 'beat' }
      beatDue = false
      await watch.news()
    }
  } finally {
    clearInterval(beating)
    watch.end()
  }
}

async function stillLive(
  needs: LiveSessionNeeds,
  token: string,
): Promise<Session | 'expired' | 'deleted'> {
  try {
    return await liveSession(needs, token)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return error.code === 'session_expired' ? 'expired' : 'deleted'
  }
}

interface Seen {
  version: number
  lastId: number
  ids: Set<number>
}

/** What is different from what was seen, oldest first; afterwards it has been seen. */
async function* changes(
  { store }: MailEventsNeeds,
  session: Session,
  seen: Seen,
): AsyncGenerator<MailEvent> {
  const ids = await store.listMessageIds(session.id)
  const there = new Set(ids)
  const gone = [...seen.ids].filter((id) => !there.has(id))
  const page = { sinceId: seen.lastId, limit: Number.MAX_SAFE_INTEGER }
  const messages = await store.listMessages(session.id, page)

  // Of what came or went between the two reads, the next look tells: it was told as a message first.
  const known = ids.filter((id) => id <= seen.lastId)
  seen.ids = new Set([...known, ...messages.map(({ id }) => id)])
  seen.lastId = messages[0]?.id ?? seen.lastId
  seen.version = session.version
  for (const id of gone) yield { kind: 'deleted', id }
  for (const message of messages.toReversed()) yield { kind: 'message', message }
}
