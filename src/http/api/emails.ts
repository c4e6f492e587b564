import { type Static, Type } from 'typebox'
import type { ApiKey } from '../../core/key.ts'
import { isoTimestamp, utcTimestamp } from '../../core/time.ts'
import { authenticateKey, type Caller } from '../../service/keys/authenticate-key.ts'
import { charge } from '../../service/keys/charge.ts'
import {
  awaitEmails,
  type EmailQuery,
  type EmailRecord,
  emailsVersion,
  type KeyView,
  listEmails,
  newestEmailId,
  parseTo,
} from '../../service/mail/emails.ts'
import { cursorOf, keyedEtag, matchesEtag, parseCursor } from '../server/caching.ts'
import { KEY_HEADER } from '../server/credentials.ts'
import type { RouteDeps } from '../server/deps.ts'
import { authenticatedKey, callerOf } from '../server/keyed.ts'
import { empty, type HttpResponse, json, preparedJson } from '../server/response.ts'
import { type HttpRequest, route } from '../server/route.ts'
import {
  addressField,
  DEFAULT_LIMIT,
  isoTimeField,
  limitField,
  messageIdField,
  sinceIdField,
  timeField,
  waitField,
} from './schemas.ts'

const recordSchema = Type.Object({
  id: messageIdField,
  from: Type.String({ examples: ['ann@sender.example'] }),
  to: Type.String({
    description: 'As the mail names the recipient, else the bare address.',
    examples: ['You <you@mayfly.example>'],
  }),
  subject: Type.String({ examples: ['Your code'] }),
  date: timeField,
  date_iso: isoTimeField,
  body: Type.String({
    description: 'Plain text, made from HTML where only that came; at most 256 KB.',
    examples: ['Your code is 123456.'],
  }),
  truncated: Type.Optional(Type.Literal(true, { description: 'There when the body was cut.' })),
})

export const emailsSchema = Type.Array(
  Type.Object({
    address: Type.Optional(addressField),
    emails: Type.Array(recordSchema),
  }),
)

type EmailsBody = Static<typeof emailsSchema>

/** So that `[0].emails` is always there. */
export const NO_EMAILS: EmailsBody = [{ emails: [] }]

/** One element for each recipient, in the order in which they appear first. */
export function emailsJson(records: readonly EmailRecord[]): EmailsBody {
  if (records.length === 0) return NO_EMAILS
  return [...Map.groupBy(records, ({ recipient }) => recipient)].map(([address, mine]) => ({
    address,
    emails: mine.map(recordJson),
  }))
}

function recordJson(record: EmailRecord): Static<typeof recordSchema> {
  const { id, from, to, subject, receivedAt, body, truncated } = record
  return {
    id,
    from,
    to,
    subject,
    date: utcTimestamp(receivedAt),
    date_iso: isoTimestamp(receivedAt),
    body,
    ...(truncated ? { truncated } : {}),
  }
}

const PATH = '/emails'

export const emailsRoute = route({
  method: 'GET',
  path: PATH,
  title: 'Read emails with a key',
  about: [
    'The mail that your key may see, newest first, one element for each recipient; with none at all there is one element with an empty list.',
    'Your key sees two kinds. Mail of sessions that were created with it: nobody else’s key sees that. And the pool: mail for any address at our reader domains that no session ever held.',
    'Pool mail is shared by all key holders, as in a public inbox: whoever has a key may read it, so send nothing there that is meant for you alone. The operator may have limited it to exact addresses, or closed it.',
    'Each 200 costs one request of your plan, also an empty one. Nothing else does: not 304, no refusal, no fault of ours, and nobody who hangs up while waiting is charged. A request is taken before the mail is read, on disk, so that no key ever gets one more than its plan; if our process or its store dies in between, the requests in flight at that moment may be charged without an answer, and no others.',
    'With wait the answer comes as soon as there is mail newer than since_id. If none comes in time it is an empty list with the header X-Timed-Out: 1, which costs one request; with If-None-Match it is a 304, which costs none.',
    'Each answer to a valid key says in RateLimit, RateLimit-Policy and X-RateLimit-* what is left. With more than fits on a page Link leads to the next. Reading marks and deletes nothing.',
  ].join('\n\n'),
  input: Type.Object({
    to: Type.Optional(
      Type.String({ description: 'Only mail for this address; a name around it is ignored.' }),
    ),
    since_id: sinceIdField,
    limit: limitField,
    cursor: Type.Optional(
      Type.String({ description: 'From the Link of the page before: where this one begins.' }),
    ),
    wait: waitField,
  }),
  output: emailsSchema,
  requestHeaders: [KEY_HEADER],
  responseHeaders: ['Link', 'X-Timed-Out'],
  problems: ['invalid_key', 'plan_expired', 'quota_exhausted', 'daily_limit', 'shutting_down'],
  conditional: true,
  reader: true,
  authenticate: async (deps, call) => await authenticateKey(deps, callerOf(deps, call)),
  async handle({ to, since_id: sinceId = 0, limit = DEFAULT_LIMIT, cursor, wait = 0 }, deps, call) {
    const key = authenticatedKey(call)
    const query: EmailQuery = {
      keyId: key.id,
      to: to === undefined ? undefined : parseTo(to),
      sinceId,
      beforeId: cursor === undefined ? undefined : parseCursor(cursor),
      limit,
    }
    call.throwIfClosed()
    const visit: EmailsRequest = { deps, call, caller: callerOf(deps, call), query }
    const found = await visibleMail(visit, key, wait)
    const etag = keyedEtag(query, found.mark)
    if (matchesEtag(call.headers['if-none-match'], etag)) return empty(304, { etag })

    // Who has gone is not charged, or gets it back.
    call.throwIfClosed()
    return await charge(deps, { key: found.key, caller: visit.caller }, async () => {
      call.throwIfClosed()
      const made = found.timedOut ? timedOutResponse(etag) : await listing(visit, etag)
      call.reserveSendBudget(made.body)
      return made
    })
  },
})

interface EmailsRequest {
  deps: RouteDeps
  call: HttpRequest
  caller: Caller
  query: EmailQuery
}

interface VisibleMail {
  key: ApiKey
  mark: string
  timedOut: boolean
}

/** What the key may see: now, or when there is something new of it. With If-None-Match that is any change. */
async function visibleMail(
  { deps, call, caller, query }: EmailsRequest,
  key: ApiKey,
  wait: number,
): Promise<VisibleMail> {
  const found = { key, mark: await emailsVersion(deps, query), timedOut: false }
  if (wait === 0) return found
  const given = call.headers['if-none-match']
  const worth = async ({ mark, newestId }: Pick<KeyView, 'mark' | 'newestId'>) =>
    given === undefined
      ? (await newestId()) > query.sinceId
      : !matchesEtag(given, keyedEtag(query, mark))
  call.throwIfClosed()
  if (await worth({ mark: found.mark, newestId: () => newestEmailId(deps, query) })) return found

  const leave = deps.longPolls.acquire(`key ${key.id}`, call)
  try {
    const { lookMs: pollMs } = deps.quiet
    const signal = call.waitSignal()
    return await awaitEmails(deps, { caller, query, seconds: wait, isDone: worth, signal, pollMs })
  } finally {
    leave()
  }
}

/** Made once for each state of what the key may see, however often it asks. */
async function listing(
  { deps, call, query }: EmailsRequest,
  etag: string,
): Promise<HttpResponse<never>> {
  const { keyId, to = '', sinceId, beforeId = '', limit } = query
  const name = `emails ${keyId} ${to} ${sinceId} ${beforeId} ${limit}`
  const kept = deps.responseCache.get(name, etag)
  if (kept) return kept
  const { records, nextAfter } = await listEmails(deps, query, {
    client: call.client ?? `key ${keyId}`,
    signal: call.signal(),
  })
  const link = nextAfter === undefined ? {} : { link: nextLink(query, nextAfter) }
  const answer = preparedJson(emailsJson(records), { etag, ...link })
  deps.responseCache.set(name, etag, { answer, bytes: answer.body.length })
  return answer
}

function timedOutResponse(etag: string): HttpResponse<typeof NO_EMAILS> {
  return json(NO_EMAILS, { etag, 'x-timed-out': '1' })
}

/** Relative, and without anything that opens something: keys travel in headers alone. */
function nextLink({ to, sinceId, limit }: EmailQuery, nextAfter: number): string {
  const next = new URLSearchParams({
    ...(to === undefined ? {} : { to }),
    ...(sinceId === 0 ? {} : { since_id: String(sinceId) }),
    ...(limit === DEFAULT_LIMIT ? {} : { limit: String(limit) }),
    cursor: cursorOf(nextAfter),
  })
  return `<${PATH}?${next}>; rel="next"`
}
