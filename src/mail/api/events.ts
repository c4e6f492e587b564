import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { privateContentResponse } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import type { MailRouteDeps } from '../deps.ts'
import { type MailEvent, openMailEvents } from '../list/events.ts'
import { scannerForClient } from '../read/code-scanner.ts'
import { parseFilter } from '../rules/filter.ts'
import type { MessageSummary } from '../rules/message.ts'
import { liveSession } from '../sessions/session.ts'
import { filterFields, listedJson, sinceIdField, tokenField } from './schemas.ts'

// The generator is read only as fast as the client reads, so a slow client costs no more than this.
const BUFFERED_BYTES = 16_384
const MEDIA_TYPE = 'text/event-stream'

export const eventsRoute = route({
  method: 'GET',
  path: '/api/events',
  name: 'stream-events',
  title: 'Live stream',
  description:
    'Server-sent events: message (a summary; its id is the event id), updated (the summary again, once the mail is parsed, with its code and preview), deleted ({"id":…}), end ({"reason":"expired" or "deleted"}). Last-Event-ID or since_id resumes after that message, and repeats older messages of the last five minutes as updated; without either, the stream starts now. With from, subject, has_code or has_link, only matching messages are reported; with has_code or has_link, once they are parsed: such a message may follow newer ones, and until then the event ids stay before it, so that a client that reconnects does not miss it but may get newer ones again. It may close at any time without an end event: reconnect after the number of milliseconds in retry.',
  input: Type.Object({ token: tokenField, since_id: sinceIdField, ...filterFields }),
  output: MEDIA_TYPE,
  problems: ['invalid_token', 'session_expired'],
  resumable: true,
  async handle({ token, since_id: sinceId, ...conditions }, deps: MailRouteDeps, request) {
    const filter = parseFilter(conditions)
    const session = await liveSession(deps, token)
    const headers = { 'x-accel-buffering': 'no', connection: 'close' }
    if (request.method === 'HEAD') return privateContentResponse(MEDIA_TYPE, undefined, headers)

    const resumesAfter = lastEventId(request) ?? sinceId
    const startsAfter = resumesAfter ?? session.lastId
    // Released when the response closes, even if the stream was never read.
    deps.longPolls.acquire(session.id, request)
    const codes = scannerForClient(deps.codes, request.client)
    const events = await openMailEvents(
      { ...deps, codes },
      {
        token,
        session,
        sinceId: startsAfter,
        filter,
        client: request.client,
        resumes: resumesAfter !== undefined,
        ...deps.intervals,
        signal: request.waitSignal(),
      },
    )
    const opening = { startsAfter, retryMs: retryMs(deps.randomBytes) }
    // Also while draining: EventSource reconnects after a closed stream, but not after an error status.
    const body = Readable.from(eventStream(events, opening), {
      objectMode: false,
      highWaterMark: BUFFERED_BYTES,
    })
    request.onClose(() => body.destroy())
    return privateContentResponse(MEDIA_TYPE, body, headers)
  },
})

/** Sent by EventSource on reconnect. Wins over since_id, which stays the same in the URL. */
function lastEventId(request: HttpRequest): number | undefined {
  const given = request.headers['last-event-id']
  const id = typeof given === 'string' && /^[0-9]{1,16}$/.test(given) ? Number(given) : undefined
  return Number.isSafeInteger(id) ? id : undefined
}

const RETRY_MS = { min: 1_000, spread: 3_000 }

/** Random, so that the clients of a node do not all reconnect at once. */
export function retryMs(randomBytes: (count: number) => Uint8Array): number {
  const [chance = 0] = randomBytes(1)
  return RETRY_MS.min + Math.round((RETRY_MS.spread * chance) / 255)
}

const dataLines = new WeakMap<MessageSummary, string>()

/** Formatted once: the streams of a mailbox share the message. */
function messageLine(message: MessageSummary): string {
  const line = dataLines.get(message) ?? dataLine(listedJson(message))
  dataLines.set(message, line)
  return line
}

/** Only message events have an id: clients resume after it. */
export function formatEvent(event: MailEvent): string {
  switch (event.kind) {
    case 'message':
      return `event: message\nid: ${event.resumeAfter}\n${messageLine(event.message)}`
    // No id, so that a client resumes after the newest message and not after this one.
    case 'updated':
      return `event: updated\n${messageLine(event.message)}`
    case 'deleted':
      return `event: deleted\n${dataLine({ id: event.id })}`
    case 'end':
      return `event: end\n${dataLine({ reason: event.reason })}`
    case 'beat':
      return ':\n\n'
  }
}

/** The opening has the starting id, so that a client disconnected before the first message misses none. */
export async function* eventStream(
  events: AsyncIterable<MailEvent>,
  { startsAfter, retryMs }: { startsAfter: number; retryMs: number },
): AsyncGenerator<string> {
  yield `retry: ${retryMs}\nid: ${startsAfter}\n\n`
  try {
    for await (const event of events) yield formatEvent(event)
  } catch (error) {
    // Shutdown: the client reconnects, here or to another node.
    if (!(error instanceof Problem)) throw error
    yield `: ${error.code}\nretry: ${retryMs}\n\n`
  }
}

/** JSON contains no line breaks, so one data line is enough. */
function dataLine(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
