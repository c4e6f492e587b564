import type { Static, TObject } from 'typebox'
import { Problem } from '../../../core/problem.ts'
import type { RouteDeps } from '../../server/deps.ts'
import type { HttpResponse } from '../../server/response.ts'
import { type HttpRequest, type Route, route } from '../../server/route.ts'
import { localeOf } from '../locale.ts'
import { type PageFacts, pageFacts } from '../page.ts'
import { isCrossSite, isValidCsrfToken, tokenFromCookie } from './csrf.ts'
import { errorPage, type PlainSite, problemPage } from './page.ts'

/** Somebody who reads without scripts. */
export interface PlainRequest {
  deps: RouteDeps
  call: HttpRequest
  site: PlainSite
  facts: PageFacts
  /** What the browser's cookie holds, unchecked. */
  token: string | undefined
}

interface PlainRoute<I extends TObject> extends Pick<Route, 'method' | 'path' | 'title' | 'about'> {
  input: I
  output?: string
  rate?: 'createSession'
  answer(input: Static<I>, visit: PlainRequest): Promise<HttpResponse>
}

/** A page for people, or what a form on one does. It knows nobody but by the cookie, and refuses with pages. */
export function plainRoute<I extends TObject>(plain: PlainRoute<I>): Route {
  const { output = 'text/html', answer, ...rest } = plain
  return route({
    ...rest,
    output,
    problems: ['invalid_token', 'session_expired', 'message_not_found'],
    async handle(input, deps, call) {
      const visit = await plainRequestOf(deps, call)
      const isForm = plain.method === 'POST'
      if (isForm && isCrossSite(call.headers, deps.baseUrl)) return crossSiteError(visit)
      return withPrivateHeaders(await answer(input, visit))
    },
    problemPage(problem, { builtPage: built }, { headers, requestId }) {
      const site = { built, locale: localeOf(headers['accept-language']), abuse: '' }
      return withPrivateHeaders(problemPage(site, hideInvalidIds(problem), requestId))
    },
  })
}

/** The same for what only the holder of an address may ask. A form shows that it is of a page of his. */
export function mailboxRoute<I extends TObject>(
  plain: Omit<PlainRoute<I>, 'answer'> & {
    answer(input: Static<I>, visit: PlainRequest & { token: string }): Promise<HttpResponse>
  },
): Route {
  return plainRoute({
    ...plain,
    async answer(input, visit) {
      const { token, site } = visit
      if (token === undefined) return errorPage(site, { kind: 'none', status: 401 })
      const { proof }: { proof?: string } = input
      if (plain.method === 'POST' && !isValidCsrfToken(token, proof)) return crossSiteError(visit)
      return await plain.answer(input, { ...visit, token })
    },
  })
}

async function plainRequestOf(deps: RouteDeps, call: HttpRequest): Promise<PlainRequest> {
  const facts = await pageFacts(deps, call)
  const locale = localeOf(call.headers['accept-language'])
  const site = { built: deps.builtPage, locale, abuse: facts.abuse }
  return { deps, call, site, facts, token: tokenFromCookie(call) }
}

function crossSiteError({ site }: PlainRequest): HttpResponse {
  return withPrivateHeaders(errorPage(site, { kind: 'elsewhere', status: 403 }))
}

/** Where a number is in the address, nonsense is one more page that is not there. */
function hideInvalidIds(problem: Problem): Problem {
  const { code, message } = problem
  const isAddress = code === 'invalid_parameter' && /^(id|index):/.test(message)
  return isAddress ? new Problem('message_not_found', message) : problem
}

/** No page elsewhere reads or embeds it, and no search engine keeps it. */
function withPrivateHeaders({ headers, ...answer }: HttpResponse): HttpResponse {
  const {
    'access-control-allow-origin': _open,
    'access-control-expose-headers': _exposed,
    ...own
  } = headers
  return {
    ...answer,
    headers: { ...own, 'cross-origin-resource-policy': 'same-origin', 'x-robots-tag': 'noindex' },
  }
}
