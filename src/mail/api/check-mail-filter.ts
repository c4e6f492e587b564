import { Problem } from '../../base/problem.ts'
import { takeRate } from '../../http/server/rates.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { type HttpResponse, json } from '../../http/server/response.ts'
import type { MailRouteDeps } from '../deps.ts'
import { awaitMail } from '../list/check-mail.ts'
import { listMatching, matchTest } from '../list/filtered-mail.ts'
import { searchMail } from '../list/search-mail.ts'
import { scannerForClient } from '../read/code-scanner.ts'
import { type MailFilter, parseFilter, parseSearch, type SearchText } from '../rules/filter.ts'
import { isMailboxFull, type Session } from '../rules/session.ts'
import { type Listing, listedJson, settingsJson } from './schemas.ts'

// check-mail with conditions: neither cached nor tagged, because its response also depends on what is still to be parsed.

interface Conditions {
  filter: MailFilter | undefined
  search: SearchText | undefined
}

type ConditionInput = Parameters<typeof parseFilter>[0] & {
  q?: string | undefined
  wait?: number | undefined
}

/** Undefined if all messages are requested. */
export function parseConditions(input: ConditionInput): Conditions | undefined {
  const { q, wait = 0 } = input
  const filter = parseFilter(input)
  if (q === undefined) return filter && { filter, search: undefined }
  if (wait > 0) throw new Problem('invalid_parameter', 'q: cannot be combined with wait.')
  return { filter, search: parseSearch(q) }
}

interface FilteredRequest extends Conditions {
  token: string
  session: Session
  sinceId: number
  limit: number
  wait: number
}

export async function filteredListing(
  deps: MailRouteDeps,
  request: HttpRequest,
  { filter, search, wait, ...wanted }: FilteredRequest,
): Promise<HttpResponse<Listing>> {
  if (search !== undefined) return await searchListing(deps, request, { filter, search, ...wanted })
  if (!filter) throw new Error('a request without conditions')
  const services = forClient(deps, request.client)
  const { client, throwIfClosed } = request
  const test = { filter, sinceId: wanted.sinceId, client, signal: request.signal() }
  const list = () =>
    listMatching(services, { ...wanted, throwIfClosed }, { ...test, limit: wanted.limit })
  const found = await list()
  throwIfClosed()
  if (found.messages.length > 0 || wait === 0) return listing(deps, found)

  const { token, session } = wanted
  const release = deps.longPolls.acquire(session.id, request)
  try {
    const { timedOut, session: current } = await awaitMail(deps, {
      token,
      session,
      seconds: wait,
      isDone: matchTest(services, test),
      pollMs: deps.intervals.pollMs,
      signal: request.waitSignal(),
    })
    if (timedOut) return listing(deps, { session: current, messages: [] }, { timed_out: true })
  } finally {
    release()
  }
  throwIfClosed()
  return listing(deps, await list())
}

async function searchListing(
  deps: MailRouteDeps,
  request: HttpRequest,
  { search, filter, ...wanted }: Omit<FilteredRequest, 'wait' | 'search'> & { search: SearchText },
): Promise<HttpResponse<Listing>> {
  const { client, throwIfClosed } = request
  if (client !== undefined) await takeRate(deps, 'searchMail', String(wanted.session.id))
  const services = { ...forClient(deps, client), parsed: deps.parsed }
  const mailbox = { ...wanted, throwIfClosed }
  const { incomplete, ...found } = await searchMail(services, mailbox, {
    ...wanted,
    search,
    filter,
    client,
    signal: request.signal(),
  })
  return listing(deps, found, incomplete ? { incomplete: true } : {})
}

function listing(
  deps: MailRouteDeps,
  { session, messages }: Awaited<ReturnType<typeof listMatching>>,
  more: Pick<Listing, 'timed_out' | 'incomplete'> = {},
): HttpResponse<Listing> {
  return json<Listing>({
    ...mailboxPart(deps, session),
    messages: messages.map(listedJson),
    ...more,
  })
}

export function mailboxPart(deps: MailRouteDeps, session: Session) {
  const full = isMailboxFull(session, deps.mailbox) ? { full: true as const } : {}
  return {
    status: 'success' as const,
    ...settingsJson(session),
    ...full,
  }
}

export function forClient({ store, now, codes, steps }: MailRouteDeps, client: string | undefined) {
  return { store, now, steps, codes: scannerForClient(codes, client) }
}
