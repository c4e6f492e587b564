import { withCause } from '../../base/jobs/outage.ts'
import { openLru } from '../../base/lru.ts'
import { Problem } from '../../base/problem.ts'
import { isOwnOrigin } from '../../http/server/client-address.ts'
import {
  bearerToken,
  cookieScope,
  cookieValue,
  requireAdminToken,
  setCookieHeader,
} from '../../http/server/credentials.ts'
import type { ServerDeps } from '../../http/server/deps.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { isSignedIn, type OperatorSessionDeps } from '../session.ts'

type RequireOperatorDeps = OperatorSessionDeps &
  Pick<ServerDeps, 'adminToken' | 'rateLimits' | 'limit' | 'now' | 'log' | 'baseUrl'>

interface KnownSignIns {
  /** Ids that this thread has found valid: while the store is unavailable, they are told why, and nothing else. */
  known: ReturnType<typeof openLru<string, true>>
}

export function openAdminDeps(deps: RequireOperatorDeps) {
  const known = openLru<string, true>(MAX_KNOWN)
  return { requireOperator: (request: HttpRequest) => requireOperator({ ...deps, known }, request) }
}

const MAX_KNOWN = 100

/**
 * The admin token as a Bearer token, or the cookie of the page. Browsers send the cookie by themselves, so with it a change must
 * come from one of our own pages: they name their origin with every POST.
 */
async function requireOperator(
  deps: RequireOperatorDeps & KnownSignIns,
  request: HttpRequest,
): Promise<undefined> {
  if (bearerToken(request.headers.authorization) !== undefined) {
    return await requireAdminToken(deps, request)
  }
  if (request.method === 'POST' && !isOwnPage(request, deps.baseUrl)) {
    throw new Problem(
      'not_allowed',
      'Origin: not the address of this service. If it is, set MAYFLY_BASE_URL to it.',
    )
  }
  const id = signInId(request)
  if (id !== undefined && (await isValid(deps, id))) return
  throw new Problem('invalid_token', 'Sign in, or send the admin token as Authorization: Bearer.')
}

async function isValid(deps: RequireOperatorDeps & KnownSignIns, id: string): Promise<boolean> {
  try {
    const isFound = await isSignedIn(deps, id)
    if (isFound) deps.known.set(id, true)
    else deps.known.delete(id)
    return isFound
  } catch (error) {
    throw deps.known.get(id) ? withCause(error) : error
  }
}

function isOwnPage(request: HttpRequest, baseUrl: string): boolean {
  const site = request.headers['sec-fetch-site']
  return (site === undefined || site === 'same-origin') && isOwnOrigin(request, baseUrl)
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
