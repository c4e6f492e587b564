import { type Static, Type } from 'typebox'
import { isFull, type Session } from '../../core/session.ts'
import {
  awaitMail,
  forceLook,
  type ListMailDeps,
  listMail,
  lookAtNewest,
  type MailboxState,
  mailboxState,
} from '../../service/mail/check-mail.ts'
import { looksOf } from '../../service/mail/code-lookup.ts'
import { takeRate } from '../../service/rates.ts'
import { liveSession } from '../../service/sessions/live-session.ts'
import type { RouteDeps } from '../server/deps.ts'
import { mailboxTag, matchesTag } from '../server/etag.ts'
import { empty, type HttpResponse, json, readyJson } from '../server/response.ts'
import { type Call, route } from '../server/route.ts'
import {
  limitField,
  mailboxFields,
  mailboxJson,
  sinceIdField,
  successField,
  summaryFields,
  summaryJson,
  tokenField,
  USUAL_LIMIT,
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
  refusals: ['invalid_token', 'session_expired', 'shutting_down'],
  conditional: true,
  async handle(input, deps, call) {
    const { token, since_id: sinceId = 0, limit = USUAL_LIMIT, wait = 0, force = false } = input
    const found = await liveSession(deps, token)
    if (call.client !== undefined) await takeRate(deps, 'checkMail', String(found.id))
    if (force) await forceLook(deps, found)
    call.throwIfClosed()
    const given = call.headers['if-none-match']
    const { session, timedOut } =
      wait === 0
        ? { session: found, timedOut: false }
        : await waitForNews(deps, call, { token, session: found, seconds: wait, sinceId })
    call.throwIfClosed()

    if (given !== undefined) {
      const etag = mailboxTag(session)
      if (matchesTag(given, etag)) {
        return unchangedAnswers.get(session) ?? (await unchanged(deps, { session, etag }, call))
      }
    }
    if (timedOut) return timedOutAnswer(deps, session)
    return await listing(deps, { token, session, call }, { sinceId, limit })
  },
})

const unchangedAnswers = new WeakMap<Session, HttpResponse<never>>()

/** Made once for each state of a session: by the session where the store remembers it, else by its version. */
async function unchanged(
  deps: RouteDeps,
  { session, etag }: { session: Session; etag: string },
  { client }: Call,
): Promise<HttpResponse<never>> {
  const key = `${session.id} unchanged`
  const kept = deps.answers.find(key, session.version)
  if (kept) return kept
  const answer = empty(304, { etag })
  // Whoever gave the tag may have ended before all was looked at; a list that was made here has seen to it.
  const isListed = deps.answers.find(session.id, session.version) !== undefined
  const isLooked = isListed || (await lookAtNewest(forClient(deps, client), session, USUAL_LIMIT))
  if (isLooked) {
    unchangedAnswers.set(session, answer)
    deps.answers.keep(key, session.version, { answer, bytes: 0 })
  }
  return answer
}

interface Quest {
  token: string
  session: Session
  seconds: number
  sinceId: number
}

/** With If-None-Match: while it matches. Without: until there is mail newer than since_id. */
async function waitForNews(deps: RouteDeps, call: Call, { sinceId, ...quest }: Quest) {
  const given = call.headers['if-none-match']
  const worth = async ({ session, hasNewer }: MailboxState) =>
    given === undefined ? await hasNewer(sinceId) : !matchesTag(given, mailboxTag(session))
  if (await worth(mailboxState(deps, quest.session))) {
    return { session: quest.session, timedOut: false }
  }
  const leave = deps.waiting.enter(quest.session.id, call)
  try {
    const { lookMs } = deps.quiet
    return await awaitMail(deps, { ...quest, worth, lookMs, signal: call.waitSignal() })
  } finally {
    leave()
  }
}

/** Made once for each version of a mailbox, however many ask. */
async function listing(
  deps: RouteDeps,
  { token, session: found, call }: { token: string; session: Session; call: Call },
  page: { sinceId: number; limit: number },
): Promise<HttpResponse<never>> {
  const kept = deps.answers.find(answerKey(found, page), found.version)
  if (kept) return kept
  const { session, messages, whole } = await listMail(
    forClient(deps, call.client),
    { token, session: found },
    page,
  )
  const value: Listing = { ...opening(deps, session), messages: messages.map(summaryJson) }
  // Neither kept nor tagged: the next one must look again.
  if (!whole) return readyJson(value, {})
  const answer = readyJson(value, { etag: mailboxTag(session) })
  const made = { answer, bytes: answer.body.length }
  deps.answers.keep(answerKey(session, page), session.version, made)
  return answer
}

function answerKey({ id }: Session, { sinceId, limit }: { sinceId: number; limit: number }) {
  return limit === USUAL_LIMIT && sinceId === 0 ? id : `${id} ${limit} ${sinceId}`
}

/** Without a tag: it would say that the reader knows what the list does not tell, such as a code found meanwhile. */
function timedOutAnswer(deps: RouteDeps, session: Session): HttpResponse<Listing> {
  const value: Listing = { ...opening(deps, session), messages: [], timed_out: true }
  return json(value)
}

function opening(deps: RouteDeps, session: Session) {
  const full = isFull(session, deps.mailbox) ? { full: true as const } : {}
  return { status: 'success' as const, ...mailboxJson(session), ...full }
}

/** The dependencies of a list whose codes are looked up for this client. */
function forClient({ store, now, codes }: RouteDeps, client: string | undefined): ListMailDeps {
  return { store, now, codes: looksOf(codes, client) }
}
