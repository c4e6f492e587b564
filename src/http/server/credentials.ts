import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../core/problem.ts'
import { isDue, limitAttempts, takeRate } from '../../service/rates.ts'
import type { RouteDeps } from './deps.ts'
import { tokenRefusals } from './metrics.ts'
import type { HeaderField, HttpRequest } from './route.ts'

/** The credential of an `Authorization: Bearer` header. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1]
}

export const KEY_HEADER: HeaderField = {
  name: 'APIKey',
  required: true,
  description: 'Your key. X-API-Key and Authorization: Bearer also work.',
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

export function cookieValue(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim())
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

/**
 * True if the client is the operator, or if no admin token is configured. Requests with the right token are not rate
 * limited; all others are, and wrong tokens count against a second limit.
 */
export async function isOperatorRequest(
  deps: OperatorDeps,
  request: HttpRequest,
): Promise<boolean> {
  const { client, headers } = request
  const given = bearerToken(headers.authorization)
  if (deps.adminToken !== '' && given !== undefined) {
    if (await isAdminToken(deps, request, given)) return true
    tokenRefusals.add('wrong')
  }
  if (client !== undefined) await takeRate(deps, 'health', client)
  return deps.adminToken === ''
}

type OperatorDeps = Pick<RouteDeps, 'adminToken' | 'rateLimits' | 'limit' | 'now' | 'log'>

/** Over the limit, the right token is refused too; otherwise guesses could still be tested. */
async function isAdminToken(
  deps: OperatorDeps,
  request: HttpRequest,
  given: string,
): Promise<boolean> {
  const isRight = () => isEqualSecret(given, deps.adminToken)
  if (!deps.rateLimits) return isRight()
  // Also a local client: it may be a proxy that hides its clients.
  const guesser = request.client ?? request.sourceAddress()
  try {
    return await limitAttempts(deps, 'wrongAdminToken', guesser, isRight)
  } catch (error) {
    if (error instanceof Problem && error.code === 'rate_limited') {
      tokenRefusals.add('rate_limited')
      if (await isDue(deps, 'wrongAdminTokenWarning', guesser)) {
        deps.log.warn({ client: guesser }, 'too many wrong admin tokens: more are refused')
      }
    }
    throw error
  }
}

/** Hashing gives both the same length, which timingSafeEqual requires. */
export function isEqualSecret(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
