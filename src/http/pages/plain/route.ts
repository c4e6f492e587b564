import type { Static, TObject } from 'typebox'
import { Problem } from '../../../base/problem.ts'
import type { HttpRequest } from '../../server/request.ts'
import { type HttpResponse, withoutCors } from '../../server/response.ts'
import { type Route, route } from '../../server/route.ts'
import type { PageDeps } from '../deps.ts'
import { type Site, siteOf, siteWithoutStore } from '../page.ts'
import { isCrossSite, isValidCsrfToken, tokenFromCookie } from './csrf.ts'
import { errorPage, problemPage } from './page.ts'

export interface PlainRequest {
  deps: PageDeps
  request: HttpRequest
  site: Site
  /** From the cookie, not verified. */
  token: string | undefined
}

interface PlainRoute<I extends TObject> extends Pick<Route, 'method' | 'path'> {
  input: I
  rate?: 'createSession'
  respond(input: Static<I>, plain: PlainRequest): Promise<HttpResponse>
}

/** A page for people, or the target of a form on one. The cookie is the only credential; problems are rendered as pages. */
export function plainRoute<I extends TObject>(options: PlainRoute<I>) {
  const { respond, ...rest } = options
  return route({
    ...rest,
    async handle(input, deps: PageDeps, request) {
      const site = await siteOf(deps, request)
      const plain = { deps, request, site, token: tokenFromCookie(request) }
      const isForm = options.method === 'POST'
      if (isForm && isCrossSite(request, deps.baseUrl)) return crossSiteError(plain)
      return withPrivateHeaders(await respond(input, plain))
    },
    renderProblem(problem, deps: PageDeps, request) {
      const site = siteWithoutStore(deps, request)
      return withPrivateHeaders(
        problemPage(site, hideInvalidIds(problem), { ...request, isPlain: true }),
      )
    },
  })
}

/** The same for requests that need an address. A form must carry the CSRF token of that address. */
export function mailboxRoute<I extends TObject>(
  options: Omit<PlainRoute<I>, 'respond'> & {
    respond(input: Static<I>, plain: PlainRequest & { token: string }): Promise<HttpResponse>
  },
) {
  return plainRoute({
    ...options,
    async respond(input, plain) {
      const { token, site } = plain
      if (token === undefined) return errorPage(site, { kind: 'none', status: 401 })
      const { proof }: { proof?: string } = input
      if (options.method === 'POST' && !isValidCsrfToken(token, proof)) return crossSiteError(plain)
      return await options.respond(input, { ...plain, token })
    },
  })
}

function crossSiteError({ site }: PlainRequest): HttpResponse {
  return withPrivateHeaders(errorPage(site, { kind: 'crossSite', status: 403 }))
}

/** An invalid number in the path is just another page that does not exist. */
function hideInvalidIds(problem: Problem): Problem {
  const { code, message } = problem
  const isInPath = code === 'invalid_parameter' && /^(id|index):/.test(message)
  return isInPath ? new Problem('message_not_found', message) : problem
}

/** Other sites can neither read nor embed the page, and search engines do not index it. */
function withPrivateHeaders({ headers, ...response }: HttpResponse): HttpResponse {
  const own = withoutCors(headers)
  return {
    ...response,
    headers: { ...own, 'cross-origin-resource-policy': 'same-origin', 'x-robots-tag': 'noindex' },
  }
}
