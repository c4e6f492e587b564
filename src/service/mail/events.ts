import { Problem, type ProblemCode, StoreUnavailable } from '../../core/problem.ts'
import type { Session } from '../../core/session.ts'
import {
  type ClientScanner,
  type KnownState,
  type MailboxView,
  type MailboxViewDeps,
  type MailChange,
  mailboxPollSource,
} from './mailbox-view.ts'
import type { SharedPolls } from './shared-poll.ts'

export interface MailEventsDeps extends MailboxViewDeps {
  mailboxPolls: SharedPolls<MailboxView>
  codes: ClientScanner
}

export type MailEvent =
  | MailChange
  | { kind: 'end'; reason: 'expired' | 'deleted' }
  /** Nothing happened for a while. */
  | { kind: 'beat' }

interface EventStreamRequest {
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
  deps: MailEventsDeps,
  following: EventStreamRequest,
): AsyncGenerator<MailEvent> {
  const { signal, beatMs } = following
  const wanted = mailboxPollSource(deps, following)
  // While we stop, a stream still tells what its reader missed, once.
  const views = signal.aborted
    ? singlePoll(wanted.open(new AbortController().signal), signal)
    : deps.mailboxPolls.subscribe(wanted)
  let isBeatDue = false
  const beating = setInterval(() => {
    isBeatDue = true
    views.wake()
  }, beatMs)
  const readEvents = eventReader(deps, following)
  try {
    for (;;) {
      if ((yield* readEvents(views)) === 'ended') return
      if (isBeatDue) yield { kind: 'beat' }
      isBeatDue = false
    }
  } finally {
    clearInterval(beating)
    views.end()
  }
}

interface Views {
  next(): Promise<MailboxView | undefined>
  wake(): void
  end(): void
}

function singlePoll(poll: () => Promise<MailboxView>, signal: AbortSignal): Views {
  let isDone = false
  return {
    async next() {
      if (isDone) throw signal.reason
      isDone = true
      return await poll()
    },
    wake() {},
    end() {},
  }
}

/**
 * Tells what is new in each view. One that finds the store away tells nothing, and the next one tells what it missed: a
 * browser whose stream is refused never comes back by itself.
 */
function eventReader(
  { now, codes }: MailEventsDeps,
  { session, sinceId, resumes, signal }: EventStreamRequest,
): (views: Views) => AsyncGenerator<MailEvent, 'ended' | undefined> {
  // Who comes back is told again of what is young: its code may have been found while he was away.
  const recentSince = resumes ? now().getTime() - RECENT_MS : Number.POSITIVE_INFINITY
  let seen: KnownState | undefined

  async function* changesIn(view: MailboxView): AsyncGenerator<MailEvent> {
    seen ??= await view.initialState({ sinceId, youngSince: recentSince })
    if (view.session.version === seen.version) return
    for (const step of [view.changed, view.arrived]) {
      const { events, seen: next } = await step(seen, codes)
      seen = next
      yield* events
    }
  }

  return async function* readEvents(views) {
    let end: 'expired' | 'deleted' | undefined
    try {
      const view = await views.next()
      if (view?.session.id === session.id) yield* changesIn(view)
      // A revived session is another mailbox: this one is over.
      else if (view) end = 'expired'
    } catch (error) {
      // A poll that nobody waits for any more ends with an error of its own.
      if (signal.aborted && !(error instanceof Problem)) throw signal.reason
      end = endReason(error)
    }
    if (end === undefined) return undefined
    yield { kind: 'end', reason: end }
    return 'ended'
  }
}

/** How the session ended; undefined when the store is away. Throws any other error. */
function endReason(error: unknown): 'expired' | 'deleted' | undefined {
  const reason = error instanceof Problem ? END_REASONS[error.code] : undefined
  if (!reason && !(error instanceof StoreUnavailable)) throw error
  return reason
}

const END_REASONS: Partial<Record<ProblemCode, 'expired' | 'deleted'>> = {
  session_expired: 'expired',
  invalid_token: 'deleted',
}

// Longer than a code takes to be found, and than most connections are down.
const RECENT_MS = 5 * 60_000
