import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { liveSession } from '../../service/sessions/live-session.ts'
import { looksOf } from '../../service/mail/code-lookup.ts'
import { mailEvents } from '../../service/mail/events.ts'
import { privateFile } from '../server/response.ts'
import { eventStream, retryMs } from './event-text.ts'
import { type Call, route } from '../server/route.ts'
import { sinceIdField, tokenField } from './schemas.ts'

// A generator is asked only when the client has taken what it got, so a slow one costs this and no more.
const BUFFERED_BYTES = 16_384
const TYPE = 'text/event-stream'

export const eventsRoute = route({
  method: 'GET',
  path: '/api/events',
  title: 'Live stream',
  about:
    'Server-sent events: message (a summary; its id is the event id), updated (the summary again, when its code was found later), deleted ({"id":…}), end ({"reason":"expired" or "deleted"}). Last-Event-ID or since_id resumes after that message, and tells the codes in older ones of the last five minutes again; with neither the stream starts now. It may end at any time without an end event: come back after as many milliseconds as retry says.',
  input: Type.Object({ token: tokenField, since_id: sinceIdField }),
  output: TYPE,
  refusals: ['invalid_token', 'session_expired'],
  resumable: true,
  async handle({ token, since_id: sinceId }, needs, call) {
    const session = await liveSession(needs, token)
    // The stream is the last thing on its connection.
    const headers = { 'x-accel-buffering': 'no', connection: 'close' }
    if (call.method === 'HEAD') return privateFile(TYPE, undefined, headers)

    const resumesAfter = lastEventId(call) ?? sinceId
    const startsAfter = resumesAfter ?? session.lastId
    // Held until the response is closed, whether the stream was ever read or not.
    needs.waiting.enter(session.id, call)
    const codes = looksOf(needs.codes, call.client)
    const events = mailEvents(
      { ...needs, codes },
      {
        token,
        session,
        sinceId: startsAfter,
        resumes: resumesAfter !== undefined,
        ...needs.quiet,
        signal: call.waitSignal(),
      },
    )
    const opening = { startsAfter, retryMs: retryMs(needs.randomBytes) }
    // Also while we drain: a browser that is refused once never comes back, one whose stream ends does.
    const body = Readable.from(eventStream(events, opening), {
      objectMode: false,
      highWaterMark: BUFFERED_BYTES,
    })
    call.onClose(() => body.destroy())
    return privateFile(TYPE, body, headers)
  },
})

/** What a browser sends by itself when it comes back; it wins over the address, which stays the same. */
function lastEventId(call: Call): number | undefined {
  const given = call.headers['last-event-id']
  const id = typeof given === 'string' && /^[0-9]{1,16}$/.test(given) ? Number(given) : undefined
  return Number.isSafeInteger(id) ? id : undefined
}
