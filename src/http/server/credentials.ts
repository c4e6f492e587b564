import type { IncomingHttpHeaders } from 'node:http'
import type { HeaderField } from './route.ts'

/** The secret of an Authorization header; undefined when it holds none. */
export function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1]
}

/** The header that every reader route asks for. */
export const KEY_FIELD: HeaderField = {
  name: 'APIKey',
  required: true,
  description: 'Your key. X-API-Key and Authorization: Bearer are understood too.',
}

/**
 * The key that a request gives, and nothing of its query: that ends up in logs. Node joins what is given twice with a
 * comma, and no key has one.
 */
export function keyOf(headers: IncomingHttpHeaders): string | undefined {
  return namedKey(headers) ?? bearerOf(headers.authorization)
}

/** The same where a Bearer may be a session's token too. */
export function keyBesideTokens(headers: IncomingHttpHeaders): string | undefined {
  const bearer = bearerOf(headers.authorization)
  return namedKey(headers) ?? (bearer?.startsWith('mf_') ? bearer : undefined)
}

function namedKey(headers: IncomingHttpHeaders): string | undefined {
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
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

/** A Set-Cookie header of what no script reads and no other site's page sends. */
export function cookieText({ name, value, path, seconds, secure }: Cookie): string {
  const kept = `${name}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
  return secure ? `${kept}; Secure` : kept
}
