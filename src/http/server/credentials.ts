import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../base/problem.ts'
import type { ServerDeps } from './deps.ts'
import { countExposedToken, tokenRefusals } from './metrics.ts'
import { limitAttempts, takeRate, takeTurn } from './rates.ts'
import type { HttpRequest } from './request.ts'

/** The credential of an `Authorization: Bearer` header. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1]
}

/** Never from the query, which ends up in logs. Node joins repeated headers with a comma, which no key contains. */
export function apiKeyOf(headers: IncomingHttpHeaders): string | undefined {
  return keyHeader(headers) ?? bearerToken(headers.authorization)
}

/** Where a Bearer may also be the token of a session. */
export function apiKeyBesideToken(headers: IncomingHttpHeaders): string | undefined {
  const bearer = bearerToken(headers.authorization)
  return keyHeader(headers) ?? (bearer?.startsWith('mf_') ? bearer : undefined)
}

function keyHeader(headers: IncomingHttpHeaders): string | undefined {
  return textOf(headers['apikey']) ?? textOf(headers['x-api-key'])
}

function textOf(value: string | string[] | undefined): string | undefined {
  return value === undefined ? undefined : String(value)
}

interface Cookie {
  name: string
  value: string
  path: string
  /** Max-Age; 0 deletes the cookie. */
  maxAgeSeconds: number
  secure: boolean
}

// More than browsers keep for one site.
const MAX_COOKIES = 200

export function cookieValue(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';', MAX_COOKIES).map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/**
 * Over https, the `__Host-` prefix keeps pages of a sibling host from setting the cookie; it requires the path `/`. Over
 * http, browsers reject the prefix.
 */
export function cookieScope(
  secure: boolean,
  name: string,
  path: string,
): Pick<Cookie, 'name' | 'path'> {
  return secure ? { name: `__Host-${name}`, path: '/' } : { name, path }
}

/** HttpOnly and SameSite=Strict: scripts cannot read it, and other sites cannot send it. */
export function setCookieHeader(cookie: Cookie): string {
  const { name, value, path, maxAgeSeconds, secure } = cookie
  const header = `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`
  return secure ? `${header}; Secure` : header
}

type OperatorDeps = Pick<ServerDeps, 'adminToken' | 'rateLimits' | 'limit' | 'now' | 'log'>

/** True if the client is the operator, or if no admin token is configured. Requests without the token are rate limited. */
export async function isOperatorRequest(
  deps: OperatorDeps,
  request: HttpRequest,
): Promise<boolean> {
  if (await hasAdminToken(deps, request)) return true
  if (request.client !== undefined) await takeRate(deps, 'health', request.client)
  return deps.adminToken === ''
}

/** Throws Problem unless the request has the admin token. */
export async function requireAdminToken(
  deps: OperatorDeps,
  request: HttpRequest,
): Promise<undefined> {
  if (!(await isOperatorRequest(deps, request))) {
    throw new Problem('invalid_token', 'The admin token is wrong.')
  }
}

/** Throws `rate_limited` after too many wrong tokens, even if this one is right; otherwise guesses could still be tested. */
export async function hasAdminToken(deps: OperatorDeps, request: HttpRequest): Promise<boolean> {
  const given = bearerToken(request.headers.authorization)
  if (deps.adminToken === '' || given === undefined) return false
  const isRight = () => isEqualSecret(given, deps.adminToken)
  // Also a local client: it may be a proxy that hides its clients.
  const client = request.client ?? request.sourceAddress()
  try {
    const hasToken = deps.rateLimits
      ? await limitAttempts(deps, 'wrongAdminToken', client, isRight)
      : isRight()
    if (!hasToken) tokenRefusals.add('wrong')
    else if (request.isExposed()) countExposedToken()
    return hasToken
  } catch (error) {
    if (isRateLimited(error)) {
      tokenRefusals.add('rate_limited')
      if (await takeTurn(deps, 'wrongAdminTokenWarning', client)) {
        deps.log.warn({ client }, 'too many wrong admin tokens: more are refused')
      }
    }
    throw error
  }
}

export function isRateLimited(error: unknown): boolean {
  return error instanceof Problem && error.code === 'rate_limited'
}

/** Hashing gives both the same length, which timingSafeEqual requires. */
export function isEqualSecret(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
