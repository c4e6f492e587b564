import { Problem, type ProblemCode, StoreUnavailable } from '../../base/problem.ts'
import type { MailDeps } from '../deps.ts'
import type { MailFilter } from '../rules/filter.ts'
import { changeFilter } from './filtered-mail.ts'
import {
  type KnownState,
  type MailboxView,
  type MailChange,
  mailboxPollSource,
  type WatchedMailbox,
} from './mailbox-view.ts'
import type { Subscription } from './shared-poll.ts'

type MailEventsDeps = Pick<MailDeps, 'store' | 'now' | 'codes' | 'steps' | 'mailboxPolls'>

export type MailEvent =
  /** The state of the mailbox is known: every change from now on is reported. Sent once, even if the store is unavailable. */
  | { kind: 'open' }
  | MailChange
  | { kind: 'end'; reason: 'expired' | 'deleted' }
  /** Heartbeat: nothing happened for a while. */
  | { kind: 'beat' }

interface EventStreamRequest extends WatchedMailbox {
  /** The client knows messages up to this one. */
  sinceId: number
  /** Only messages that match are reported. */
  filter?: MailFilter | undefined
  /** Rate-limit key; undefined if rate limits do not apply. */
  client?: string | undefined
  /** The client reconnects, and may have missed something. */
  resumes: boolean
  heartbeatMs: number
}

/** The events of a mailbox, in order, until its session ends. Throws the signal's reason when aborted. */
export async function* mailEvents(
  deps: MailEventsDeps,
  request: EventStreamRequest,
): AsyncGenerator<MailEvent> {
  const { signal, heartbeatMs } = request
  const wanted = mailboxPollSource(deps, request)
  // During shutdown, a stream still reports once what its client missed.
  const views = signal.aborted
    ? singlePoll(wanted.open(new AbortController().signal), signal)
    : deps.mailboxPolls.subscribe(wanted)
  let isHeartbeatDue = false
  const heartbeat = setInterval(() => {
    isHeartbeatDue = true
    views.wake()
  }, heartbeatMs)
  const readEvents = eventReader(deps, request)
  try {
    for (;;) {
      if ((yield* readEvents(views)) === 'ended') return
      if (isHeartbeatDue) yield { kind: 'beat' }
      isHeartbeatDue = false
    }
  } finally {
    clearInterval(heartbeat)
    views.end()
  }
}

type Views = Pick<Subscription<MailboxView>, 'next' | 'wake' | 'end'>

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
 * Reports what is new in each view. If the store is unavailable, the stream stays open and the next view catches up: a browser
 * does not reconnect to a stream that was refused.
 */
function eventReader(
  { now, codes, steps }: MailEventsDeps,
  { session, sinceId, filter, client, resumes, signal }: EventStreamRequest,
): (views: Views) => AsyncGenerator<MailEvent, 'ended' | undefined> {
  // A client that reconnects is told again about recent messages: a code may have been found meanwhile.
  const recentSince = resumes ? now().getTime() - RECENT_MS : Number.POSITIVE_INFINITY
  const reader = { client, mailbox: session.id }
  let reported: ReturnType<typeof changeFilter> | undefined
  let seen: KnownState | undefined
  let isOpen = false

  async function firstState(view: MailboxView): Promise<KnownState> {
    const state = await view.initialState({ sinceId, youngSince: recentSince })
    // Up to where a client resumes, every message was scanned.
    reported = filter && changeFilter(filter, sinceId, resumes ? undefined : state.unscanned)
    return state
  }

  function* openOnce(): Generator<MailEvent> {
    if (!isOpen) yield { kind: 'open' }
    isOpen = true
  }

  /** In steps: a stream may start with all messages of a mailbox. */
  async function* reportedOf(
    changes: readonly MailChange[],
    report: ReturnType<typeof changeFilter>,
  ): AsyncGenerator<MailChange> {
    for (const change of changes) {
      const found = await steps.step(reader, () => report(change))
      if (found) yield found
    }
  }

  async function* changesIn(view: MailboxView): AsyncGenerator<MailEvent> {
    seen ??= await firstState(view)
    yield* openOnce()
    if (view.session.version === seen.version) return
    const report = reported
    for (const step of [view.changed, view.arrived]) {
      const { events, seen: next } = await step(seen, codes)
      seen = next
      if (report) yield* reportedOf(events, report)
      else yield* events
    }
  }

  return async function* readEvents(views) {
    let end: 'expired' | 'deleted' | undefined
    try {
      const view = await views.next()
      if (view?.session.id === session.id) yield* changesIn(view)
      // A revived session has a new mailbox: this one has ended.
      else if (view) end = 'expired'
    } catch (error) {
      // A poll without subscribers fails with an error of its own.
      if (signal.aborted && !(error instanceof Problem)) throw signal.reason
      end = endReason(error)
      // The client needs the starting id if it has to reconnect.
      if (end === undefined) yield* openOnce()
    }
    if (end === undefined) return undefined
    yield { kind: 'end', reason: end }
    return 'ended'
  }
}

/** How the session ended; undefined if the store is unavailable. Throws any other error. */
function endReason(error: unknown): 'expired' | 'deleted' | undefined {
  const reason = error instanceof Problem ? END_REASONS[error.code] : undefined
  if (!reason && !(error instanceof StoreUnavailable)) throw error
  return reason
}

const END_REASONS: Partial<Record<ProblemCode, 'expired' | 'deleted'>> = {
  session_expired: 'expired',
  invalid_token: 'deleted',
}

// Longer than it takes to find a code, and than most interruptions.
const RECENT_MS = 5 * 60_000
