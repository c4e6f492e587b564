import type { Bus } from '../bus/bus.ts'
import type { MessageSummary } from '../core/message.ts'
import { Problem, type ProblemCode, StoreAway } from '../core/problem.ts'
import type { Session } from '../core/session.ts'
import type { MailStore } from '../store/store.ts'
import { type LiveSessionNeeds, liveSession } from './live-session.ts'
import type { CodeLooks } from './look-for-codes.ts'
import { watchMailbox } from './watch.ts'

export interface MailEventsNeeds extends LiveSessionNeeds {
  store: Pick<MailStore, 'findSession' | 'listMessages' | 'listMessageIds'>
  bus: Pick<Bus, 'subscribe'>
  codes: Pick<CodeLooks, 'look'>
}

export type MailEvent =
  | { kind: 'message'; message: MessageSummary }
  /** A code was found in a message that the reader knows without. */
  | { kind: 'updated'; message: MessageSummary }
  | { kind: 'deleted'; id: number }
  | { kind: 'end'; reason: 'expired' | 'deleted' }
  /** Nothing happened for a while. */
  | { kind: 'beat' }

interface Following {
  token: string
  session: Session
  /** Messages up to this one are known to the reader. */
  sinceId: number
  /** He has been here before, and may have missed something. */
  resumes: boolean
  beatMs: number
  /** How often to look without being woken. */
  lookMs: number
  signal: AbortSignal
}

/** Tells what happens to a mailbox, in order, until its session ends. Throws the signal's reason once that is aborted. */
export async function* mailEvents(
  needs: MailEventsNeeds,
  { token, session, sinceId, resumes, beatMs, lookMs, signal }: Following,
): AsyncGenerator<MailEvent> {
  const watch = watchMailbox(needs.bus, { mailboxes: [session.id], signal, lookMs })
  let beatDue = false
  const beating = setInterval(() => {
    beatDue = true
    watch.poke()
  }, beatMs)

  const look = looker(needs, { token, session, sinceId, resumes })
  try {
    for (;;) {
      if ((yield* look()) === 'ended') return
      if (beatDue) yield { kind: 'beat' }
      beatDue = false
      await watch.news()
    }
  } finally {
    clearInterval(beating)
    watch.end()
  }
}

/**
 * Tells at each look what is new since the last. One that finds the store away tells nothing, and the next one tells what it missed:
 * a browser whose stream is refused never comes back by itself.
 */
function looker(
  needs: MailEventsNeeds,
  { token, session, ...before }: Pick<Following, 'token' | 'session' | 'sinceId' | 'resumes'>,
): () => AsyncGenerator<MailEvent, 'ended' | undefined> {
  let seen: Seen | undefined

  return async function* look() {
    try {
      seen ??= await seenBefore(needs, session, before)
      const current = await stillLive(needs, token)
      // A revived session is another mailbox: this one is over.
      if (typeof current === 'string' || current.id !== session.id) {
        yield { kind: 'end', reason: typeof current === 'string' ? current : 'expired' }
        return 'ended'
      }
      if (current.version !== seen.version) yield* changes(needs, current, seen)
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error
    }
    return undefined
  }
}

async function stillLive(
  needs: LiveSessionNeeds,
  token: string,
): Promise<Session | 'expired' | 'deleted'> {
  try {
    return await liveSession(needs, token)
  } catch (error) {
    const reason = error instanceof Problem ? ENDS[error.code] : undefined
    if (!reason) throw error
    return reason
  }
}

const ENDS: Partial<Record<ProblemCode, 'expired' | 'deleted'>> = {
  session_expired: 'expired',
  invalid_token: 'deleted',
}

interface Seen {
  version: number
  lastId: number
  ids: Set<number>
  /** Those that nobody has looked at, as far as the reader was told. */
  unlooked: Set<number>
}

// As many as a list shows.
const LOOKED_BACK = 100
// Longer than a code takes to be found, and than most connections are down.
const YOUNG_MS = 5 * 60_000

/**
 * What the reader knows by now. Of that the newest which nobody has looked at will be looked at: somebody watches the mailbox.
 * Who comes back is told again of what is young: its code may have been found while he was away.
 */
async function seenBefore(
  { store, now }: MailEventsNeeds,
  session: Session,
  { sinceId, resumes }: Pick<Following, 'sinceId' | 'resumes'>,
): Promise<Seen> {
  const newest = await store.listMessages(session.id, { sinceId: 0, limit: LOOKED_BACK })
  const known = newest.filter(({ id }) => id <= sinceId)
  const youngSince = resumes ? now().getTime() - YOUNG_MS : Number.POSITIVE_INFINITY
  const untold = known.filter((one) => isUnlooked(one) || one.receivedAt.getTime() >= youngSince)
  return { version: -1, lastId: sinceId, ids: new Set(), unlooked: idsOf(untold) }
}

/** What is different from what was seen, oldest first; afterwards it has been seen. */
async function* changes(
  needs: MailEventsNeeds,
  session: Session,
  seen: Seen,
): AsyncGenerator<MailEvent> {
  const ids = await needs.store.listMessageIds(session.id)
  const there = new Set(ids)
  for (const id of seen.ids) {
    if (there.has(id)) continue
    // At once: when what follows finds the store away, it is not told again.
    seen.ids.delete(id)
    yield { kind: 'deleted', id }
  }
  for (const message of await lookedAt(needs, session, seen)) yield { kind: 'updated', message }
  const messages = await newMessages(needs, session, seen.lastId)

  // Of what came or went between the reads, the next look tells: it was told as a message first.
  const known = ids.filter((id) => id <= seen.lastId)
  seen.ids = new Set([...known, ...idsOf(messages)])
  for (const id of idsOf(messages.filter(isUnlooked))) seen.unlooked.add(id)
  seen.lastId = messages[0]?.id ?? seen.lastId
  seen.version = session.version
  for (const message of messages.toReversed()) yield { kind: 'message', message }
}

/** Those in which a code has been found since, oldest first. */
async function lookedAt(
  { store, codes }: MailEventsNeeds,
  session: Session,
  seen: Seen,
): Promise<MessageSummary[]> {
  if (seen.unlooked.size === 0) return []
  const page = { sinceId: Math.min(...seen.unlooked) - 1, limit: Number.MAX_SAFE_INTEGER }
  const listed = await store.listMessages(session.id, page)
  const told = listed.filter(({ id }) => seen.unlooked.has(id))
  seen.unlooked = idsOf(told.filter(isUnlooked))
  // At first all of them; later there may be room for those that were not taken on.
  codes.look(session.id, told)
  return told.filter(({ code = '' }) => code !== '').toReversed()
}

/** Newest first, with the codes that are found in a little while. */
async function newMessages(
  { store, codes }: MailEventsNeeds,
  session: Session,
  sinceId: number,
): Promise<MessageSummary[]> {
  const page = { sinceId, limit: Number.MAX_SAFE_INTEGER }
  const messages = await store.listMessages(session.id, page)
  if (!(await codes.look(session.id, messages)?.found())) return messages
  // What came meanwhile has its own little while: the next look tells of it.
  const ids = idsOf(messages)
  return (await store.listMessages(session.id, page)).filter(({ id }) => ids.has(id))
}

function isUnlooked({ code }: MessageSummary): boolean {
  return code === undefined
}

function idsOf(messages: readonly MessageSummary[]): Set<number> {
  return new Set(messages.map(({ id }) => id))
}
