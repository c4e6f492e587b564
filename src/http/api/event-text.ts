import { Problem } from '../../core/problem.ts'
import type { MailEvent } from '../../service/mail/events.ts'
import { summaryJson } from './schemas.ts'

const RETRY_MS = { least: 1_000, more: 3_000 }

/** After so long the reader comes back when his stream ends. Not all readers of a node come at the same moment. */
export function retryMs(randomBytes: (count: number) => Uint8Array): number {
  const [chance = 0] = randomBytes(1)
  return RETRY_MS.least + Math.round((RETRY_MS.more * chance) / 255)
}

const texts = new WeakMap<MailEvent, string>()

/** One event as text/event-stream has it. Streams of one mailbox are told the same event, which is written once. */
export function eventText(event: MailEvent): string {
  const known = texts.get(event)
  if (known !== undefined) return known
  const text = writeEvent(event)
  texts.set(event, text)
  return text
}

/** Only messages carry an id: it is where a reader goes on. */
function writeEvent(event: MailEvent): string {
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

interface Opening {
  startsAfter: number
  retryMs: number
}

/** The whole stream. It tells at once where it starts, so that who breaks off before the first message misses none. */
export async function* eventStream(
  events: AsyncIterable<MailEvent>,
  { startsAfter, retryMs }: Opening,
): AsyncGenerator<string> {
  yield `retry: ${retryMs}\nid: ${startsAfter}\n\n`
  try {
    for await (const event of events) yield eventText(event)
  } catch (error) {
    // We stop: the reader comes back by himself, here or to another node.
    if (!(error instanceof Problem)) throw error
    yield `: ${error.code}\nretry: ${retryMs}\n\n`
  }
}

/** JSON has no line breaks of its own, so one line holds it. */
function payloadLine(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
