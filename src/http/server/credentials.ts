import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type ApiKey, nextUtcDay, precheckQuota, remainingQuota } from '../../core/key.ts'
import type { Caller } from '../../service/keys/authenticate-key.ts'
import { checkRate, recordFailedAuth, takeRate } from '../../service/rates.ts'
import { siteUrl } from './client.ts'
import type { RouteDeps } from './deps.ts'
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
  deps: Pick<RouteDeps, 'adminToken' | 'limit' | 'now'>,
  request: HttpRequest,
): Promise<boolean> {
  const { client, headers } = request
  const given = bearerToken(headers.authorization)
  if (deps.adminToken !== '' && given !== undefined) {
    // Checked for the right token too; otherwise a client over the limit could still test guesses.
    if (client !== undefined) await checkRate(deps, 'wrongAdminToken', client)
    if (isEqualSecret(given, deps.adminToken)) return true
    if (client !== undefined) await recordFailedAuth(deps, 'wrongAdminToken', client)
  }
  if (client !== undefined) await takeRate(deps, 'health', client)
  return deps.adminToken === ''
}

/** Hashing gives both the same length, which timingSafeEqual requires. */
export function isEqualSecret(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}

/** Every response after a valid key carries its quota headers. */
export function callerOf(deps: RouteDeps, request: HttpRequest): Caller {
  return {
    keyText: apiKeyOf(request.headers),
    client: request.client,
    shopUrl: pricingUrl(deps, request),
    seen: (key) => request.addHeaders(() => quotaHeaders(key, deps.now())),
  }
}

export function pricingUrl({ baseUrl }: Pick<RouteDeps, 'baseUrl'>, request: HttpRequest): string {
  return `${siteUrl(baseUrl, request)}/pricing`
}

/** The key that `authenticate` returned. */
export function authenticatedKey({ key }: HttpRequest): ApiKey {
  if (!key) throw new Error('route without authenticate')
  return key
}

const DAY_SECONDS = 86_400

/** Both limits as in draft-ietf-httpapi-ratelimit-headers-10; X-RateLimit-* has the tighter one. */
export function quotaHeaders(key: ApiKey, now: Date): Record<string, string> {
  const left = remainingOf(key, now)
  const resetsAt = nextUtcDay(now)
  const untilReset = Math.ceil((resetsAt.getTime() - now.getTime()) / 1000)
  const policy = [`"plan";q=${key.maxRequests}`]
  const state = [`"plan";r=${left.all}`]
  if (key.maxPerDay !== undefined) {
    policy.push(`"day";q=${key.maxPerDay};w=${DAY_SECONDS}`)
    state.push(`"day";r=${left.today};t=${untilReset}`)
  }
  return {
    'ratelimit-policy': policy.join(', '),
    ratelimit: state.join(', '),
    ...legacyHeaders(key, left, resetsAt),
  }
}

interface Remaining {
  all: number
  /** Equals `all` without a daily limit. */
  today: number
}

/** An expired plan has nothing left. */
function remainingOf(key: ApiKey, now: Date): Remaining {
  if (precheckQuota(key, now) === 'plan_expired') return { all: 0, today: 0 }
  const { all, today = all } = remainingQuota(key)
  return { all, today }
}

/** If both are equal, the plan counts: it does not reset tomorrow. */
function legacyHeaders(
  { maxRequests, maxPerDay, expiresAt }: ApiKey,
  left: Remaining,
  resetsAt: Date,
) {
  const byDay = maxPerDay !== undefined && left.today < left.all
  const reset = byDay ? resetsAt : expiresAt
  return {
    'x-ratelimit-limit': String(byDay ? maxPerDay : maxRequests),
    'x-ratelimit-remaining': String(left.today),
    'x-ratelimit-reset': String(reset ? Math.floor(reset.getTime() / 1000) : 0),
  }
}
