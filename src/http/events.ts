import { Problem } from '../core/problem.ts'
import type { MailEvent } from '../service/mail-events.ts'
import { summaryJson } from './shapes.ts'

// The browser comes back after so long when a stream breaks off.
const RETRY_MS = 2_000

/** One event as text/event-stream has it. Only messages carry an id: it is where a reader goes on. */
export function eventText(event: MailEvent): string {
  switch (event.kind) {
    case 'message':
      return `event: message\nid: ${event.message.id}\n${payloadLine(summaryJson(event.message))}`
    // Without an id: a reader that comes back goes on after the newest message, not after this one.
    case 'updated':
      return `event: updated\n${payloadLine(summaryJson(event.message))}`
    case 'deleted':
      return `event: deleted\n${payloadLine({ id: event.id })}`
    case 'end':
      return `event: end\n${payloadLine({ reason: event.reason })}`
    case 'beat':
      return ':\n\n'
  }
}

/** The whole stream. It tells at once where it starts, so that who breaks off before the first message misses none. */
export async function* eventStream(
  events: AsyncIterable<MailEvent>,
  startsAfter: number,
): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\nid: ${startsAfter}\n\n`
  try {
    for await (const event of events) yield eventText(event)
  } catch (error) {
    // We stop: the reader comes back by himself, here or to another node.
    if (!(error instanceof Problem)) throw error
    yield `: ${error.code}\nretry: ${RETRY_MS}\n\n`
  }
}

/** JSON has no line breaks of its own, so one line holds it. */
function payloadLine(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
