import { Problem } from '../../base/problem.ts'
import type { MailEvent } from '../list/events.ts'
import type { MergedEvent } from '../list/merged-events.ts'
import type { MessageSummary } from '../rules/message.ts'
import { listedJson } from './schemas.ts'

// Events as text/event-stream.

const RETRY_MS = { min: 1_000, spread: 3_000 }

/** Random, so that the clients of a node do not all reconnect at once. */
export function retryMs(randomBytes: (count: number) => Uint8Array): number {
  const [chance = 0] = randomBytes(1)
  return RETRY_MS.min + Math.round((RETRY_MS.spread * chance) / 255)
}

interface Opening {
  /** The id after which each mailbox starts; undefined for one that ended before. */
  positions: readonly (number | undefined)[]
  /** If events name their mailbox: its address; null for one that ended before. */
  emails?: readonly (string | null)[] | undefined
  retryMs: number
}

/** The opening has the starting ids, so that a client disconnected before the first message misses none. */
export async function* eventStream(
  events: AsyncIterable<MergedEvent>,
  { positions, emails, retryMs }: Opening,
): AsyncGenerator<string> {
  const current = [...positions]
  yield `retry: ${retryMs}\nid: ${current.join()}\n\n`
  try {
    for await (const { event, index } of events) {
      if (event.kind === 'message') current[index] = event.resumeAfter
      const source = emails && { email: emails[index] ?? null, index }
      yield formatEvent(event, current.join(), source)
    }
  } catch (error) {
    // Shutdown: the client reconnects, here or to another node.
    if (!(error instanceof Problem)) throw error
    yield `: ${error.code}\nretry: ${retryMs}\n\n`
  }
}

/** Which of several mailboxes an event is of. */
interface EventSource {
  email: string | null
  index: number
}

/** Only message events have an id: clients resume after it. */
export function formatEvent(event: MailEvent, id: string, source?: EventSource): string {
  const email = source && { email: source.email }
  switch (event.kind) {
    case 'message':
      return `event: message\nid: ${id}\n${messageLine(event.message, email)}`
    // No id, so that a client resumes after the newest message and not after this one.
    case 'updated':
      return `event: updated\n${messageLine(event.message, email)}`
    case 'deleted':
      return `event: deleted\n${dataLine({ ...email, id: event.id })}`
    case 'end':
      return `event: end\n${dataLine({ ...source, reason: event.reason })}`
    case 'beat':
      return ':\n\n'
  }
}

const messageLines = new WeakMap<MessageSummary, string>()

/** Formatted once: the streams of a mailbox share the message. */
function messageLine(message: MessageSummary, email: { email: string | null } | undefined): string {
  if (email) return dataLine({ ...email, ...listedJson(message) })
  const line = messageLines.get(message) ?? dataLine(listedJson(message))
  messageLines.set(message, line)
  return line
}

/** JSON contains no line breaks, so one data line is enough. */
function dataLine(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
