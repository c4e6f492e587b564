import { type TObject, type TSchema, Type } from 'typebox'
import { Problem } from '../../../core/problem.ts'
import { isSignedIn } from '../../../service/operator-session.ts'
import { isOwnHost } from '../../server/client.ts'
import {
  bearerToken,
  cookieScope,
  cookieValue,
  isOperatorRequest,
  setCookieHeader,
} from '../../server/credentials.ts'
import type { RouteDeps } from '../../server/deps.ts'
import { type HttpRequest, type Route, type RouteOptions, route } from '../../server/route.ts'
import { isoTimeField, nullable, timeField } from '../schemas.ts'

/** A route of the admin API: for the operator only. `path` is relative to /admin/api. */
export function adminRoute<I extends TObject, O extends TSchema>(
  options: Omit<RouteOptions<I, O>, 'api' | 'authenticate'>,
): Route {
  return route<I, O>({
    ...options,
    path: `/admin/api${options.path}`,
    problems: ['invalid_token', 'not_allowed', ...(options.problems ?? [])],
    api: 'admin',
    authenticate: requireOperator,
  })
}

/**
 * The admin token as a Bearer token, or the cookie of the page. Browsers send the cookie by themselves, so with it a change must
 * come from one of our own pages: they name their origin with every POST.
 */
async function requireOperator(deps: RouteDeps, request: HttpRequest): Promise<undefined> {
  if (bearerToken(request.headers.authorization) !== undefined) {
    if (await isOperatorRequest(deps, request)) return
    throw wrongToken()
  }
  if (request.method === 'POST' && !isOwnPage(request, deps.baseUrl)) {
    throw new Problem('not_allowed', 'Origin: not allowed.')
  }
  const id = signInId(request)
  if (id !== undefined && (await isSignedIn(deps, id))) return
  throw new Problem('invalid_token', 'Sign in, or send the admin token as Authorization: Bearer.')
}

export function wrongToken(): Problem {
  return new Problem('invalid_token', 'The admin token is wrong.')
}

function isOwnPage({ headers }: HttpRequest, baseUrl: string): boolean {
  const site = headers['sec-fetch-site']
  return (site === undefined || site === 'same-origin') && isOwnHost(headers, baseUrl)
}

/** From the cookie, not verified. */
export function signInId({ headers, secure }: HttpRequest): string | undefined {
  return cookieValue(headers.cookie, scope(secure()).name)
}

/** An empty id deletes the cookie. */
export function signInCookie(secure: boolean, id: string, maxAgeSeconds: number) {
  const header = setCookieHeader({ ...scope(secure), value: id, maxAgeSeconds, secure })
  return { 'set-cookie': header }
}

const scope = (secure: boolean) => cookieScope(secure, 'mayfly-admin', '/admin')

export const DEFAULT_LIMIT = 50

export const limitField = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 10_000,
    description: `Maximum number of entries; default ${DEFAULT_LIMIT}.`,
  }),
)

/** In a list that may be longer than the limit. */
export const moreField = Type.Boolean({ description: 'Whether there are more than the limit.' })

/** The first entries of a list; `read` gets one more than the limit. */
export async function firstOf<T>(
  limit: number | undefined,
  read: (limit: number) => Promise<readonly T[]>,
): Promise<{ entries: T[]; more: boolean }> {
  const most = limit ?? DEFAULT_LIMIT
  const found = await read(most + 1)
  return { entries: found.slice(0, most), more: found.length > most }
}

type Times<Name extends string> = Record<
  Name | `${Name}_iso`,
  ReturnType<typeof nullable<typeof timeField>>
>

/** An optional time in both formats, as timestampFields of core/time.ts returns it. */
export function timesOf<Name extends string>(name: Name): Times<Name> {
  return { [name]: nullable(timeField), [`${name}_iso`]: nullable(isoTimeField) } as Times<Name>
}
