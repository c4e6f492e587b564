import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Problem } from '../../core/problem.ts'
import { scannerForClient } from '../../service/mail/code-scanner.ts'
import { type MailEvent, mailEvents } from '../../service/mail/events.ts'
import { liveSession } from '../../service/sessions/session.ts'
import { privateContentResponse } from '../server/response.ts'
import { type HttpRequest, route } from '../server/route.ts'
import { sinceIdField, summaryJson, tokenField } from './schemas.ts'

// A generator is asked only when the client has taken what it got, so a slow one costs this and no more.
const BUFFERED_BYTES = 16_384
const MEDIA_TYPE = 'text/event-stream'

export const eventsRoute = route({
  method: 'GET',
  path: '/api/events',
  title: 'Live stream',
  about:
    'Server-sent events: message (a summary; its id is the event id), updated (the summary again, when its code was found later), deleted ({"id":…}), end ({"reason":"expired" or "deleted"}). Last-Event-ID or since_id resumes after that message, and tells the codes in older ones of the last five minutes again; with neither the stream starts now. It may end at any time without an end event: come back after as many milliseconds as retry says.',
  input: Type.Object({ token: tokenField, since_id: sinceIdField }),
  output: MEDIA_TYPE,
  problems: ['invalid_token', 'session_expired'],
  resumable: true,
  async handle({ token, since_id: sinceId }, deps, request) {
    const session = await liveSession(deps, token)
    // The stream is the last thing on its connection.
    const headers = { 'x-accel-buffering': 'no', connection: 'close' }
    if (request.method === 'HEAD') return privateContentResponse(MEDIA_TYPE, undefined, headers)

    const resumesAfter = lastEventId(request) ?? sinceId
    const startsAfter = resumesAfter ?? session.lastId
    // Held until the response is closed, whether the stream was ever read or not.
    deps.longPolls.acquire(session.id, request)
    const codes = scannerForClient(deps.codes, request.client)
    const events = mailEvents(
      { ...deps, codes },
      {
        token,
        session,
        sinceId: startsAfter,
        resumes: resumesAfter !== undefined,
        ...deps.intervals,
        signal: request.waitSignal(),
      },
    )
    const opening = { startsAfter, retryMs: retryMs(deps.randomBytes) }
    // Also while we drain: a browser that is refused once never comes back, one whose stream ends does.
    const body = Readable.from(eventStream(events, opening), {
      objectMode: false,
      highWaterMark: BUFFERED_BYTES,
    })
    request.onClose(() => body.destroy())
    return privateContentResponse(MEDIA_TYPE, body, headers)
  },
})

/** What a browser sends by itself when it comes back; it wins over the address, which stays the same. */
function lastEventId(request: HttpRequest): number | undefined {
  const given = request.headers['last-event-id']
  const id = typeof given === 'string' && /^[0-9]{1,16}$/.test(given) ? Number(given) : undefined
  return Number.isSafeInteger(id) ? id : undefined
}

const RETRY_MS = { min: 1_000, spread: 3_000 }

/** After so long the reader comes back when his stream ends. Not all readers of a node come at the same moment. */
export function retryMs(randomBytes: (count: number) => Uint8Array): number {
  const [chance = 0] = randomBytes(1)
  return RETRY_MS.min + Math.round((RETRY_MS.spread * chance) / 255)
}

const formatted = new WeakMap<MailEvent, string>()

/** One event as text/event-stream has it. Streams of one mailbox are told the same event, which is written once. */
export function formatEvent(event: MailEvent): string {
  const known = formatted.get(event)
  if (known !== undefined) return known
  const text = toEventStream(event)
  formatted.set(event, text)
  return text
}

/** Only messages carry an id: it is where a reader goes on. */
function toEventStream(event: MailEvent): string {
  switch (event.kind) {
    case 'message':
      return `event: message\nid: ${event.message.id}\n${dataLine(summaryJson(event.message))}`
    // Without an id: a reader that comes back goes on after the newest message, not after this one.
    case 'updated':
      return `event: updated\n${dataLine(summaryJson(event.message))}`
    case 'deleted':
      return `event: deleted\n${dataLine({ id: event.id })}`
    case 'end':
      return `event: end\n${dataLine({ reason: event.reason })}`
    case 'beat':
      return ':\n\n'
  }
}

interface StreamStart {
  startsAfter: number
  retryMs: number
}

/** The whole stream. It tells at once where it starts, so that who breaks off before the first message misses none. */
export async function* eventStream(
  events: AsyncIterable<MailEvent>,
  { startsAfter, retryMs }: StreamStart,
): AsyncGenerator<string> {
  yield `retry: ${retryMs}\nid: ${startsAfter}\n\n`
  try {
    for await (const event of events) yield formatEvent(event)
  } catch (error) {
    // We stop: the reader comes back by himself, here or to another node.
    if (!(error instanceof Problem)) throw error
    yield `: ${error.code}\nretry: ${retryMs}\n\n`
  }
}

/** JSON has no line breaks of its own, so one line holds it. */
function dataLine(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
