import { type Static, Type } from 'typebox'
import { isMailboxFull, type Session } from '../../core/session.ts'
import {
  awaitMail,
  forcePoll,
  type ListMailDeps,
  listMail,
  type MailboxState,
  mailboxState,
  scanNewest,
} from '../../service/mail/check-mail.ts'
import { scannerForClient } from '../../service/mail/code-scanner.ts'
import { takeRate } from '../../service/rates.ts'
import { liveSession } from '../../service/sessions/session.ts'
import { mailboxEtag, matchesEtag } from '../server/caching.ts'
import type { RouteDeps } from '../server/deps.ts'
import { empty, type HttpResponse, json, preparedJson } from '../server/response.ts'
import { type HttpRequest, route } from '../server/route.ts'
import {
  DEFAULT_LIMIT,
  limitField,
  mailboxFields,
  mailboxJson,
  sinceIdField,
  successField,
  summaryFields,
  summaryJson,
  tokenField,
  waitField,
} from './schemas.ts'

const input = Type.Object({
  token: tokenField,
  since_id: sinceIdField,
  limit: limitField,
  wait: waitField,
  force: Type.Optional(
    Type.Boolean({
      description: 'Of a Gmail alias: look for its mail now, as far as the account allows.',
    }),
  ),
})

const output = Type.Object({
  status: successField,
  ...mailboxFields,
  full: Type.Optional(Type.Literal(true)),
  messages: Type.Array(Type.Object(summaryFields)),
  timed_out: Type.Optional(Type.Literal(true)),
})

type Listing = Static<typeof output>

export const checkMailRoute = route({
  method: 'GET',
  path: '/api/check-mail',
  title: 'List messages',
  about:
    'The messages of the session, newest first. With the ETag of a former answer as If-None-Match you get 304 as long as nothing changed; with wait the answer comes when there is mail. A code that is found only after a list was given changes the ETag; a client that sends only since_id does not see it. An answer that timed out has no ETag.',
  input,
  output,
  problems: ['invalid_token', 'session_expired', 'shutting_down'],
  conditional: true,
  async handle(input, deps, call) {
    const { token, since_id: sinceId = 0, limit = DEFAULT_LIMIT, wait = 0, force = false } = input
    const found = await liveSession(deps, token)
    if (call.client !== undefined) await takeRate(deps, 'checkMail', String(found.id))
    if (force) await forcePoll(deps, found)
    call.throwIfClosed()
    const given = call.headers['if-none-match']
    const { session, timedOut } =
      wait === 0
        ? { session: found, timedOut: false }
        : await waitForChange(deps, call, { token, session: found, seconds: wait, sinceId })
    call.throwIfClosed()

    if (given !== undefined) {
      const etag = mailboxEtag(session)
      if (matchesEtag(given, etag)) {
        return (
          notModifiedResponses.get(session) ?? (await notModified(deps, { session, etag }, call))
        )
      }
    }
    if (timedOut) return timedOutResponse(deps, session)
    return await listing(deps, { token, session, call }, { sinceId, limit })
  },
})

const notModifiedResponses = new WeakMap<Session, HttpResponse<never>>()

/** Made once for each state of a session: by the session where the store remembers it, else by its version. */
async function notModified(
  deps: RouteDeps,
  { session, etag }: { session: Session; etag: string },
  { client }: HttpRequest,
): Promise<HttpResponse<never>> {
  const key = `${session.id} unchanged`
  const kept = deps.responseCache.get(key, session.version)
  if (kept) return kept
  const answer = empty(304, { etag })
  // Whoever gave the tag may have ended before all was looked at; a list that was made here has seen to it.
  const isListed = deps.responseCache.get(session.id, session.version) !== undefined
  const isLooked = isListed || (await scanNewest(forClient(deps, client), session, DEFAULT_LIMIT))
  if (isLooked) {
    notModifiedResponses.set(session, answer)
    deps.responseCache.set(key, session.version, { answer, bytes: 0 })
  }
  return answer
}

interface WaitOptions {
  token: string
  session: Session
  seconds: number
  sinceId: number
}

/** With If-None-Match: while it matches. Without: until there is mail newer than since_id. */
async function waitForChange(
  deps: RouteDeps,
  call: HttpRequest,
  { sinceId, ...quest }: WaitOptions,
) {
  const given = call.headers['if-none-match']
  const worth = async ({ session, hasNewer }: MailboxState) =>
    given === undefined ? await hasNewer(sinceId) : !matchesEtag(given, mailboxEtag(session))
  if (await worth(mailboxState(deps, quest.session))) {
    return { session: quest.session, timedOut: false }
  }
  const leave = deps.longPolls.acquire(quest.session.id, call)
  try {
    const { lookMs: pollMs } = deps.quiet
    return await awaitMail(deps, { ...quest, isDone: worth, pollMs, signal: call.waitSignal() })
  } finally {
    leave()
  }
}

/** Made once for each version of a mailbox, however many ask. */
async function listing(
  deps: RouteDeps,
  { token, session: found, call }: { token: string; session: Session; call: HttpRequest },
  page: { sinceId: number; limit: number },
): Promise<HttpResponse<never>> {
  const kept = deps.responseCache.get(cacheKey(found, page), found.version)
  if (kept) return kept
  const { session, messages, complete } = await listMail(
    forClient(deps, call.client),
    { token, session: found },
    page,
  )
  const value: Listing = { ...mailboxPart(deps, session), messages: messages.map(summaryJson) }
  // Neither kept nor tagged: the next one must look again.
  if (!complete) return preparedJson(value, {})
  const answer = preparedJson(value, { etag: mailboxEtag(session) })
  const made = { answer, bytes: answer.body.length }
  deps.responseCache.set(cacheKey(session, page), session.version, made)
  return answer
}

function cacheKey({ id }: Session, { sinceId, limit }: { sinceId: number; limit: number }) {
  return limit === DEFAULT_LIMIT && sinceId === 0 ? id : `${id} ${limit} ${sinceId}`
}

/** Without a tag: it would say that the reader knows what the list does not tell, such as a code found meanwhile. */
function timedOutResponse(deps: RouteDeps, session: Session): HttpResponse<Listing> {
  const value: Listing = { ...mailboxPart(deps, session), messages: [], timed_out: true }
  return json(value)
}

function mailboxPart(deps: RouteDeps, session: Session) {
  const full = isMailboxFull(session, deps.mailbox) ? { full: true as const } : {}
  return { status: 'success' as const, ...mailboxJson(session), ...full }
}

/** The dependencies of a list whose codes are looked up for this client. */
function forClient({ store, now, codes }: RouteDeps, client: string | undefined): ListMailDeps {
  return { store, now, codes: scannerForClient(codes, client) }
}
