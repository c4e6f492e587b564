import { Problem } from '../../base/problem.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import type { MailStore } from '../store.ts'
import { END_REASONS, type EndReason, type MailEvent } from './events.ts'

/** The mailbox of a token, or how it ended. */
export type StreamedMailbox = { token: string } & (
  | { session: Session; ended?: never }
  | { session?: never; ended: EndReason }
)

/** In the order of the tokens. Throws if none of them is valid. `beforeEach` runs before each look-up. */
export async function findMailboxes(
  deps: { store: MailStore; now(): Date },
  tokens: readonly string[],
  beforeEach: (index: number) => Promise<void>,
): Promise<StreamedMailbox[]> {
  const refusals: Problem[] = []
  const mailboxes: StreamedMailbox[] = []
  for (const [index, token] of tokens.entries()) {
    await beforeEach(index)
    try {
      mailboxes.push({ token, session: await liveSession(deps, token) })
    } catch (error) {
      const ended = error instanceof Problem ? END_REASONS[error.code] : undefined
      if (!ended) throw error
      refusals.push(error as Problem)
      mailboxes.push({ token, ended })
    }
  }
  if (refusals.length === tokens.length) throw refusals[0]
  return mailboxes
}

/** For a mailbox that ended before. */
export async function* endedEvents(reason: EndReason): AsyncGenerator<MailEvent> {
  yield { kind: 'end', reason }
}

export interface MergedEvent {
  event: MailEvent
  /** Of the stream that it comes from. */
  index: number
}

/** The events of all streams, in turn, until the last one ends. Of each, one event is read ahead at most. */
export async function* mergeEvents(
  streams: readonly AsyncGenerator<MailEvent>[],
): AsyncGenerator<MergedEvent> {
  const next = async (index: number) => ({ index, result: await streams[index]?.next() })
  // A stream that has been read goes to the end of the map, so that others precede it.
  const pending = new Map(streams.map((_, index) => [index, next(index)]))
  try {
    while (pending.size > 0) {
      const { index, result } = await Promise.race(pending.values())
      pending.delete(index)
      if (!result || result.done) continue
      const event = result.value
      // One heartbeat for all.
      const isExtra = event.kind === 'beat' && Math.min(...pending.keys()) < index
      if (!isExtra) yield { event, index }
      pending.set(index, next(index))
    }
  } finally {
    // Not awaited: one that waits for mail ends when the response closes.
    for (const stream of streams) stream.return(undefined).catch(() => {})
  }
}
