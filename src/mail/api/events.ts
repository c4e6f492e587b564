import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import type { LongPollLimit } from '../../http/server/limits.ts'
import { takeRate } from '../../http/server/rates.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { privateContentResponse } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import type { MailRouteDeps } from '../deps.ts'
import { type MailEvent, openMailEvents } from '../list/events.ts'
import {
  endedEvents,
  findMailboxes,
  mergeEvents,
  type StreamedMailbox,
} from '../list/merged-events.ts'
import { scannerForClient } from '../read/code-scanner.ts'
import { parseFilter } from '../rules/filter.ts'
import { eventStream, retryMs } from './events-format.ts'
import { filterFields, sinceIdField, tokenField } from './schemas.ts'

// The generator is read only as fast as the client reads, so a slow client costs no more than this.
const BUFFERED_BYTES = 16_384
const MEDIA_TYPE = 'text/event-stream'

const MAX_TOKENS = 20

export const eventsRoute = route({
  method: 'GET',
  path: '/api/events',
  name: 'stream-events',
  title: 'Live stream',
  description:
    'Server-sent events: message (a summary; its id is the event id), updated (the summary again, once the mail is parsed, with its code and preview), deleted ({"id":…}), end ({"reason":"expired" or "deleted"}). Last-Event-ID or since_id resumes after that message, and repeats older messages of the last five minutes as updated; without either, the stream starts now. With from, subject, has_code or has_link, only matching messages are reported; with has_code or has_link, once they are parsed: such a message may follow newer ones, and until then the event ids stay before it, so that a client that reconnects does not miss it but may get newer ones again. It may close at any time without an end event: reconnect after the number of milliseconds in retry. With tokens instead of token, one stream reports the mail of several mailboxes, and counts as one for each: the data of its events also has email, the address of the mailbox, and an event id is a list of message ids, one for each token in the same order, with which Last-Event-ID resumes them all. A token that is unknown or ends gets an end event of its own, with its index in tokens, counted from 0, and email null if it had ended before; the others go on, and the stream ends with the last of them.',
  input: Type.Object({
    token: Type.Optional(tokenField),
    tokens: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: MAX_TOKENS,
        description:
          'Several session tokens instead of token, separated by commas. They may also be sent as Authorization: Bearer.',
      }),
    ),
    since_id: sinceIdField,
    ...filterFields,
  }),
  output: MEDIA_TYPE,
  problems: ['missing_parameter', 'invalid_token', 'session_expired'],
  resumable: true,
  async handle({ token, tokens, since_id: sinceId, ...conditions }, deps: MailRouteDeps, request) {
    const filter = parseFilter(conditions)
    const mailboxes = await findMailboxes(deps, parseTokens(token, tokens), async (index) => {
      request.throwIfClosed()
      // Each further one counts like a request of its own.
      if (index > 0 && request.client) await takeRate(deps, 'request', request.client)
    })
    const headers = { 'x-accel-buffering': 'no', connection: 'close' }
    if (request.method === 'HEAD') return privateContentResponse(MEDIA_TYPE, undefined, headers)

    const resumesAfter = lastEventIds(request, mailboxes.length).map((id) => id ?? sinceId)
    acquireAll(deps.longPolls, mailboxes, request)
    const codes = scannerForClient(deps.codes, request.client)
    const signal = request.waitSignal()
    const wanted = { filter, client: request.client, ...deps.intervals, signal }
    const streams: AsyncGenerator<MailEvent>[] = []
    for (const [index, { token, session, ended }] of mailboxes.entries()) {
      request.throwIfClosed()
      const resumes = resumesAfter[index]
      streams.push(
        session
          ? await openMailEvents(
              { ...deps, codes },
              {
                ...{ ...wanted, token, session },
                ...{ sinceId: resumes ?? session.lastId, resumes: resumes !== undefined },
              },
            )
          : endedEvents(ended),
      )
    }
    const opening = {
      positions: mailboxes.map(({ session }, index) => resumesAfter[index] ?? session?.lastId),
      emails: tokens && mailboxes.map(({ session }) => session?.address ?? null),
      retryMs: retryMs(deps.randomBytes),
    }
    // Also while draining: EventSource reconnects after a closed stream, but not after an error status.
    const body = Readable.from(eventStream(mergeEvents(streams), opening), {
      objectMode: false,
      highWaterMark: BUFFERED_BYTES,
    })
    request.onClose(() => body.destroy())
    return privateContentResponse(MEDIA_TYPE, body, headers)
  },
})

/** Counts each as a stream until the response closes, even if it is never read. */
function acquireAll(
  limit: LongPollLimit,
  mailboxes: readonly StreamedMailbox[],
  request: HttpRequest,
): void {
  // One listener for all of them.
  const releases: (() => void)[] = []
  request.onClose(() => {
    for (const release of releases) release()
  })
  const onClose = (release: () => void) => void releases.push(release)
  for (const { session } of mailboxes) {
    if (session) limit.acquire(session.id, { ...request, onClose })
  }
}

/** Throws unless exactly one of the two is given. */
function parseTokens(token: string | undefined, tokens: string[] | undefined): string[] {
  if (!tokens) {
    if (token !== undefined) return [token]
    throw new Problem('missing_parameter', 'token: parameter is missing.')
  }
  if (token !== undefined) {
    throw new Problem('invalid_parameter', 'tokens: cannot be combined with token.')
  }
  if (new Set(tokens).size === tokens.length) return tokens
  throw new Problem('invalid_parameter', 'tokens: each may be given once.')
}

/**
 * Where each mailbox resumes. Sent by EventSource on reconnect. Wins over since_id, which stays the same in the URL. Ignored
 * unless it has as many ids as there are mailboxes.
 */
function lastEventIds(request: HttpRequest, count: number): (number | undefined)[] {
  const given = String(request.headers['last-event-id'] ?? '').split(',', count + 1)
  const ids = given.length === count ? given : Array<string>(count).fill('')
  return ids.map((text) => {
    const id = /^[0-9]{1,16}$/.test(text) ? Number(text) : undefined
    return Number.isSafeInteger(id) ? id : undefined
  })
}
