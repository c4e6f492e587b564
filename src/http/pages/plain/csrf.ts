import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { cookieValue, setCookieHeader } from '../../server/credentials.ts'
import type { HttpRequest } from '../../server/route.ts'

// Which address is a browser's is told by a cookie, and a browser sends that by itself: so each form has to show that it is ours.

/** The token that this browser keeps, unchecked. */
export function tokenFromCookie(call: Pick<HttpRequest, 'headers' | 'secure'>): string | undefined {
  return cookieValue(call.headers.cookie, cookieScope(call.secure()).name)
}

/** Has the browser keep the token for so long. */
export function tokenCookie(secure: boolean, token: string, seconds: number): string {
  return setCookieHeader({ ...cookieScope(secure), value: token, seconds, secure })
}

export function expiredTokenCookie(secure: boolean): string {
  return setCookieHeader({ ...cookieScope(secure), value: '', seconds: 0, secure })
}

/**
 * By https the name's prefix keeps pages of a neighbouring host from planting an address that they can read along; it asks
 * for the whole site as path. Without https browsers refuse the prefix.
 */
function cookieScope(secure: boolean): { name: string; path: string } {
  return secure
    ? { name: '__Host-mayfly-plain', path: '/' }
    : { name: 'mayfly-plain', path: '/plain' }
}

/**
 * True when the browser says that another site's page made the request. By plain http it tells nothing: no Sec-Fetch-Site, and
 * an Origin of null, as pages without a referrer have. Text browsers never tell. What is at stake has `formProof` besides.
 */
export function isCrossSite(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  // None: the reader himself, by a reload or a bookmark.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  if (origin === undefined || origin === 'null') return false
  const named = hostOf(origin)
  return named === undefined || (named !== host?.toLowerCase() && named !== hostOf(baseUrl))
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined
}

/** What a form of ours carries; only who has the token can make it, and it opens nothing by itself. */
export function csrfToken(token: string): string {
  return hash('sha256', `form ${token}`, 'base64url')
}

export function isValidCsrfToken(token: string, proof = ''): boolean {
  // Hashes have one length, and comparing them tells nothing of what was right.
  const given = hash('sha256', proof, 'buffer')
  return timingSafeEqual(given, hash('sha256', csrfToken(token), 'buffer'))
}
