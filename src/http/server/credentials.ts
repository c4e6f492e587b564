import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { checkRate, type RateDeps, recordFailedAuth, takeRate } from '../../service/rates.ts'
import type { HeaderField, HttpRequest } from './route.ts'

/** The secret of an Authorization header; undefined when it holds none. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1]
}

/** The header that every reader route asks for. */
export const KEY_HEADER: HeaderField = {
  name: 'APIKey',
  required: true,
  description: 'Your key. X-API-Key and Authorization: Bearer are understood too.',
}

/**
 * The key that a request gives, and nothing of its query: that ends up in logs. Node joins what is given twice with a
 * comma, and no key has one.
 */
export function apiKeyOf(headers: IncomingHttpHeaders): string | undefined {
  return keyHeader(headers) ?? bearerToken(headers.authorization)
}

/** The same where a Bearer may be a session's token too. */
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

/** What a browser is given to keep. */
interface Cookie {
  name: string
  value: string
  path: string
  /** How long it is kept; 0 takes it away. */
  seconds: number
  /** Goes over https alone. */
  secure: boolean
}

/** The value of this cookie in a Cookie header; undefined when there is none. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** A Set-Cookie header of what no script reads and no other site's page sends. */
export function setCookieHeader({ name, value, path, seconds, secure }: Cookie): string {
  const kept = `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
  return secure ? `${kept}; Secure` : kept
}

interface AdminDeps extends RateDeps {
  /** Empty: none is set, and everybody may see what the operator sees. */
  adminToken: string
}

/**
 * True if the caller is the operator, or if no admin token is set. The operator's requests with the right token are not
 * counted; all others are, and wrong tokens once more, so that nobody can guess or flood.
 */
export async function isOperatorRequest(deps: AdminDeps, call: HttpRequest): Promise<boolean> {
  const { client, headers } = call
  const given = bearerToken(headers.authorization)
  if (deps.adminToken !== '' && given !== undefined) {
    // Also for the right token: else a guess would be answered.
    if (client !== undefined) await checkRate(deps, 'wrongAdminToken', client)
    if (isEqualSecret(given, deps.adminToken)) return true
    if (client !== undefined) await recordFailedAuth(deps, 'wrongAdminToken', client)
  }
  if (client !== undefined) await takeRate(deps, 'health', client)
  return deps.adminToken === ''
}

/** Hashes have one length, and comparing them takes the same time whatever was right. */
function isEqualSecret(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}
