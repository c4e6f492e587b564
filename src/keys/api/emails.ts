import { type Static, Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import { keyedEtag, MAX_CACHED_BYTES, matchesEtag } from '../../http/server/caching.ts'
import { takeRate } from '../../http/server/rates.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import {
  bodyBytes,
  empty,
  type HttpResponse,
  json,
  jsonResponse,
  preparedBytes,
} from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { named } from '../../http/server/schemas.ts'
import { parseConditions } from '../../mail/api/check-mail-filter.ts'
import {
  addressField,
  DEFAULT_LIMIT,
  limitField,
  searchField,
  senderFilterFields,
  sinceIdField,
  waitField,
} from '../../mail/api/schemas.ts'
import { hasMailbox } from '../../mail/key-mail-store.ts'
import type { Caller } from '../authenticate-key.ts'
import { withCharge } from '../charge.ts'
import type { KeyRouteDeps } from '../deps.ts'
import {
  awaitEmails,
  type EmailQuery,
  emailMatchTest,
  emailsVersion,
  type KeyView,
  newestEmailId,
  parseTo,
} from '../emails/emails.ts'
import { type ListedEmail, listEmails } from '../emails/list-emails.ts'
import type { ApiKey } from '../rules.ts'
import { CHARGED, recordJson, recordSchema, toField } from './email-json.ts'
import { authenticatedKey, callerOf } from './quota-headers.ts'

const emailsSchema = Type.Array(
  named('EmailGroup', {
    address: Type.Optional(addressField),
    emails: Type.Array(recordSchema),
  }),
)

/** `[0].emails` always exists. */
function noEmails({ to }: EmailQuery): Static<typeof emailsSchema> {
  return [{ ...(to === undefined ? {} : { address: to }), emails: [] }]
}

/** One element per recipient, in order of first appearance. */
function emailsJson(query: EmailQuery, records: readonly ListedEmail[]): Buffer[] {
  if (records.length === 0) return [Buffer.from(JSON.stringify(noEmails(query)))]
  const groups = [...Map.groupBy(records, ({ recipient }) => recipient)]
  const parts = groups.flatMap(([address, mine], at) => [
    Buffer.from(`${at === 0 ? '[' : ','}{"address":${JSON.stringify(address)},"emails":[`),
    ...mine.flatMap(({ json }, index) => (index === 0 ? [json] : [COMMA, json])),
    GROUP_END,
  ])
  return [...parts, LIST_END]
}

const [COMMA, GROUP_END, LIST_END] = [Buffer.from(','), Buffer.from(']}'), Buffer.from(']')]

const PATH = '/emails'

export const emailsRoute = route({
  method: 'GET',
  path: PATH,
  name: 'list-emails',
  title: 'Read mail with a key',
  description: [
    'The mail visible to your key, newest first, grouped by recipient. If there is no mail, the response has one element with an empty list.',
    'A key sees the mail of sessions created with it, which no other key sees, and the pool: mail to any address at a reader domain that never belonged to a session.',
    'Pool mail is shared by all key holders, like a public inbox: do not use it for anything confidential. The operator may restrict it to exact addresses or disable it.',
    'Each 200 is charged as one request, even if it is empty. Nothing else is charged: not a 304, an error, or a client that disconnects while waiting. The request is charged on disk before the mail is read, so that no key exceeds its plan; if the process or its store fails in between, requests in flight at that moment may be charged without a response.',
    'With wait, the response is sent as soon as there is mail newer than since_id; with to, also once the key no longer has a mailbox at that address. On timeout it is an empty list with the header X-Timed-Out: 1, which is charged; with If-None-Match it is a 304, which is free.',
    'from and subject select messages; limit applies to those selected, and with wait only a matching message ends the wait. A page examines at most 5,000 messages, so it may be empty and still have a Link to the next one, even after a wait that timed out. Such a response has no ETag, ignores If-None-Match and is always charged.',
    'q searches the same messages, at most 60 times a minute per key. A response that had no time to read all of them within 2 seconds has the header X-Incomplete: 1; search again.',
    'Every response to a valid key reports the remaining quota in RateLimit, RateLimit-Policy and X-RateLimit-*. Link points to the next page. Reading does not mark or delete mail.',
  ].join('\n\n'),
  input: Type.Object({
    to: toField,
    since_id: sinceIdField,
    limit: limitField,
    cursor: Type.Optional(
      Type.String({ description: 'From the Link header of the previous page.' }),
    ),
    wait: waitField,
    ...senderFilterFields,
    q: searchField,
  }),
  output: emailsSchema,
  ...CHARGED,
  problems: [...CHARGED.problems, 'shutting_down'],
  responseHeaders: ['Link', 'X-Timed-Out', 'X-Incomplete'],
  conditional: true,
  async handle(
    { to, since_id: sinceId = 0, limit = DEFAULT_LIMIT, cursor, wait = 0, from, subject, q },
    deps: KeyRouteDeps,
    request,
  ) {
    const key = authenticatedKey(request)
    const query: EmailQuery = {
      keyId: key.id,
      to: to === undefined ? undefined : parseTo(to),
      sinceId,
      beforeId: cursor === undefined ? undefined : parseCursor(cursor),
      limit,
      ...parseConditions({ from, subject, q, wait }),
    }
    const isSearch = query.search !== undefined
    if (isSearch && request.client !== undefined) {
      await takeRate(deps, 'searchMail', `key ${key.id}`)
    }
    request.throwIfClosed()
    const given = Object.entries({ from, subject, q }).filter(([, value]) => value)
    const conditions = Object.fromEntries(given) as Record<string, string>
    const caller = callerOf(deps, request)
    const context: EmailsRequest = { deps, request, caller, query, conditions }
    const found = await visibleMail(context, key, wait)
    // With conditions there is no ETag: mail that does not match would change it.
    const etag = query.filter || isSearch ? undefined : keyedEtag(query, found.version)
    if (etag !== undefined && matchesEtag(request.headers['if-none-match'], etag)) {
      return empty(304, { etag })
    }

    // A client that disconnects is not charged, or gets the request back.
    request.throwIfClosed()
    return await withCharge(deps, { key: found.key, caller: context.caller }, async () => {
      request.throwIfClosed()
      const response = found.timedOut
        ? json(noEmails(query), {
            ...tagged(etag),
            ...linked(context, found.nextAfter),
            'x-timed-out': '1',
          })
        : await listing(context, etag)
      request.reserveSendBudget(bodyBytes(response.body))
      return response
    })
  },
})

interface EmailsRequest {
  deps: KeyRouteDeps
  request: HttpRequest
  caller: Caller
  query: EmailQuery
  /** The filter as given, for the link to the next page. */
  conditions: Record<string, string>
}

function tagged(etag: string | undefined): Record<string, string> {
  return etag === undefined ? {} : { etag }
}

/** With wait, returns once there is newer mail, or the mailbox has ended; with If-None-Match, after any change. */
async function visibleMail(
  { deps, request, caller, query }: EmailsRequest,
  key: ApiKey,
  wait: number,
) {
  const version = await emailsVersion(deps, query)
  const found = { key, version, timedOut: false, nextAfter: undefined }
  if (wait === 0) return found
  const { filter } = query
  const matchTest = filter && emailMatchTest(deps, query, filter, pageRequest(request, query))
  const given = filter ? undefined : request.headers['if-none-match']
  const isEnded = ({ version: now }: Pick<KeyView, 'version'>) =>
    query.to !== undefined && hasMailbox(version) && !hasMailbox(now)
  const isDone = async (view: Pick<KeyView, 'version' | 'newestId'>) => {
    if (isEnded(view)) return true
    if (matchTest) return await matchTest.isFound(view)
    if (given === undefined) return (await view.newestId()) > query.sinceId
    return !matchesEtag(given, keyedEtag(query, view.version))
  }
  request.throwIfClosed()
  if (await isDone({ version: found.version, newestId: () => newestEmailId(deps, query) }))
    return found

  const release = deps.longPolls.acquire(`key ${key.id}`, request)
  try {
    const { pollMs } = deps.intervals
    const signal = request.waitSignal()
    const waited = await awaitEmails(deps, { caller, query, seconds: wait, isDone, signal, pollMs })
    return { ...waited, nextAfter: matchTest?.nextAfter() }
  } finally {
    release()
  }
}

function pageRequest(request: HttpRequest, { keyId }: EmailQuery) {
  return { client: request.client ?? `key ${keyId}`, signal: request.signal() }
}

/** Serialized once per version of what the key can see. */
async function listing(
  context: EmailsRequest,
  etag: string | undefined,
): Promise<HttpResponse<never>> {
  const { deps, request, query } = context
  const { keyId, to = '', sinceId, beforeId = '', limit } = query
  const name = `emails ${keyId} ${to} ${sinceId} ${beforeId} ${limit}`
  const cached = etag === undefined ? undefined : deps.responseCache.get(name, etag)
  if (cached) return cached
  const { records, nextAfter, incomplete } = await listEmails(deps, query, {
    ...pageRequest(request, query),
    toJson: recordJson,
    reserve: request.reserveSendBudget,
  })
  const headers = {
    ...tagged(etag),
    ...linked(context, nextAfter),
    ...(incomplete ? { 'x-incomplete': '1' } : {}),
  }
  const parts = emailsJson(query, records)
  // To copy a large one would delay other requests.
  if (bodyBytes(parts) > MAX_CACHED_BYTES) return jsonResponse(parts, headers)
  const response = preparedBytes(Buffer.concat(parts), headers)
  if (etag !== undefined) deps.responseCache.set(name, etag, response)
  return response
}

/** Links to the next page, if any. Relative, and without credentials: keys are sent in headers only. */
function linked(
  { query: { to, sinceId, limit }, conditions }: EmailsRequest,
  nextAfter: number | undefined,
): Record<string, string> {
  if (nextAfter === undefined) return {}
  const next = new URLSearchParams({
    ...(to === undefined ? {} : { to }),
    ...conditions,
    ...(sinceId === 0 ? {} : { since_id: String(sinceId) }),
    ...(limit === DEFAULT_LIMIT ? {} : { limit: String(limit) }),
    cursor: cursorOf(nextAfter),
  })
  return { link: `<${PATH}?${next}>; rel="next"` }
}

// Opaque, so that clients do not construct cursors and the format can change.
const CURSOR = /^after ([1-9][0-9]{0,15})$/

export function cursorOf(lastId: number): string {
  return Buffer.from(`after ${lastId}`).toString('base64url')
}

export function parseCursor(cursor: string): number {
  const [, digits] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  const id = Number(digits)
  if (Number.isSafeInteger(id) && cursorOf(id) === cursor) return id
  throw new Problem('invalid_parameter', 'cursor: use the Link header of the previous page.')
}
