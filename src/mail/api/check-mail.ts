import { Type } from 'typebox'
import { mailboxEtag, matchesEtag } from '../../http/server/caching.ts'
import { takeRate } from '../../http/server/rates.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { empty, type HttpResponse, json, preparedJson } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import type { MailRouteDeps } from '../deps.ts'
import { awaitMail, forcePoll, hasNewer, listMail, scanNewest } from '../list/check-mail.ts'
import type { Session } from '../rules/session.ts'
import { liveSession } from '../sessions/session.ts'
import { filteredListing, forClient, mailboxPart, parseConditions } from './check-mail-filter.ts'
import {
  DEFAULT_LIMIT,
  filterFields,
  type Listing,
  limitField,
  listedJson,
  listingSchema,
  searchField,
  sinceIdField,
  tokenField,
  waitField,
} from './schemas.ts'

const input = Type.Object({
  token: tokenField,
  since_id: sinceIdField,
  limit: limitField,
  wait: waitField,
  ...filterFields,
  q: searchField,
  force: Type.Optional(
    Type.Boolean({
      description: 'For a Gmail alias: fetch its mail now, if the account allows it.',
    }),
  ),
})

export const checkMailRoute = route({
  method: 'GET',
  path: '/api/check-mail',
  title: 'List messages',
  description:
    'The messages of the session, newest first. If the ETag of an earlier response is sent as If-None-Match, the response is 304 while nothing has changed. With wait, the response is sent as soon as there is mail. A message that is parsed after the list was sent changes the ETag once; clients that only use since_id do not see its code and preview. A response that timed out has no ETag.\n\nfrom, subject, has_code and has_link select messages; limit applies to those selected. With wait, only a matching message ends the wait. since_id counts all messages. A response with conditions has no ETag, and If-None-Match is ignored.',
  input,
  output: listingSchema,
  problems: ['invalid_token', 'session_expired', 'shutting_down'],
  conditional: true,
  async handle(input, deps: MailRouteDeps, request) {
    const { token, since_id: sinceId = 0, limit = DEFAULT_LIMIT, wait = 0, force = false } = input
    const conditions = parseConditions(input)
    const found = await liveSession(deps, token)
    if (request.client !== undefined) await takeRate(deps, 'checkMail', String(found.id))
    if (force) await forcePoll(deps, found)
    request.throwIfClosed()
    if (conditions) {
      const wanted = { token, session: found, sinceId, limit, wait, ...conditions }
      return await filteredListing(deps, request, wanted)
    }
    const given = request.headers['if-none-match']
    const { session, timedOut } =
      wait === 0
        ? { session: found, timedOut: false }
        : await waitForChange(deps, request, { token, session: found, seconds: wait, sinceId })
    request.throwIfClosed()

    if (given !== undefined) {
      const etag = mailboxEtag(session)
      if (matchesEtag(given, etag)) {
        return (
          notModifiedResponses.get(session) ?? (await notModified(deps, { session, etag }, request))
        )
      }
    }
    // No ETag: it would claim that the client has what the empty list omits, such as a message parsed meanwhile.
    if (timedOut) {
      return json<Listing>({ ...mailboxPart(deps, session), messages: [], timed_out: true })
    }
    return await listing(deps, { token, session, request }, { sinceId, limit })
  },
})

const notModifiedResponses = new WeakMap<Session, HttpResponse<never>>()

/** Cached by session object if the store caches it, else by version. */
async function notModified(
  deps: MailRouteDeps,
  { session, etag }: { session: Session; etag: string },
  { client }: HttpRequest,
): Promise<HttpResponse<never>> {
  const key = `${session.id} unchanged`
  const cached = deps.responseCache.get(key, session.version)
  if (cached) return cached
  const response = empty(304, { etag })
  // The process that issued the tag may have stopped before it had scanned every message.
  const isListed = deps.responseCache.get(session.id, session.version) !== undefined
  const isScanned = isListed || (await scanNewest(forClient(deps, client), session, DEFAULT_LIMIT))
  if (isScanned) {
    notModifiedResponses.set(session, response)
    deps.responseCache.set(key, session.version, response)
  }
  return response
}

/** With If-None-Match, waits while it matches; else until there is mail newer than since_id. */
async function waitForChange(
  deps: MailRouteDeps,
  request: HttpRequest,
  { sinceId, ...wait }: { token: string; session: Session; seconds: number; sinceId: number },
) {
  const given = request.headers['if-none-match']
  const isDone = async (session: Session) =>
    given === undefined
      ? await hasNewer(deps, session, sinceId)
      : !matchesEtag(given, mailboxEtag(session))
  if (await isDone(wait.session)) return { session: wait.session, timedOut: false }
  const release = deps.longPolls.acquire(wait.session.id, request)
  try {
    const { pollMs } = deps.intervals
    return await awaitMail(deps, { ...wait, isDone, pollMs, signal: request.waitSignal() })
  } finally {
    release()
  }
}

/** Serialized once per version of the mailbox. */
async function listing(
  deps: MailRouteDeps,
  { token, session: found, request }: { token: string; session: Session; request: HttpRequest },
  page: { sinceId: number; limit: number },
): Promise<HttpResponse<never>> {
  const cached = deps.responseCache.get(cacheKey(found, page), found.version)
  if (cached) return cached
  const { session, messages, complete } = await listMail(
    forClient(deps, request.client),
    { token, session: found, throwIfClosed: request.throwIfClosed },
    page,
  )
  const value: Listing = { ...mailboxPart(deps, session), messages: messages.map(listedJson) }
  // Incomplete: neither cached nor tagged, so that the next request scans again.
  if (!complete) return preparedJson(value, {})
  const response = preparedJson(value, { etag: mailboxEtag(session) })
  deps.responseCache.set(cacheKey(session, page), session.version, response)
  return response
}

function cacheKey({ id }: Session, { sinceId, limit }: { sinceId: number; limit: number }) {
  return limit === DEFAULT_LIMIT && sinceId === 0 ? id : `${id} ${limit} ${sinceId}`
}
