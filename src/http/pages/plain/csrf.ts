import { hash } from 'node:crypto'
import { isOwnOrigin } from '../../server/client-address.ts'
import {
  cookieScope,
  cookieValue,
  isEqualSecret,
  setCookieHeader,
} from '../../server/credentials.ts'
import type { HttpRequest } from '../../server/request.ts'

// Browsers send the cookie with every request, so each form must prove that it comes from one of our pages.

/** The token in the cookie, not verified. */
export function tokenFromCookie(call: Pick<HttpRequest, 'headers' | 'secure'>): string | undefined {
  return cookieValue(call.headers.cookie, scope(call.secure()).name)
}

export function tokenCookie(secure: boolean, token: string, maxAgeSeconds: number): string {
  return setCookieHeader({ ...scope(secure), value: token, maxAgeSeconds, secure })
}

const scope = (secure: boolean) => cookieScope(secure, 'mayfly-plain', '/plain')

/**
 * True if the browser says that a page of another site sent the request. Over http there is no Sec-Fetch-Site, and the
 * Origin of a page without a referrer is null; text browsers send neither. The CSRF token covers those.
 */
export function isCrossSite(
  request: Pick<HttpRequest, 'headers' | 'secure'>,
  baseUrl: string,
): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers
  // none: a reload or a bookmark.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  if (origin === undefined || origin === 'null') return false
  return !isOwnOrigin(request, baseUrl)
}

/** Derived from the token, but not usable in its place. */
export function csrfToken(token: string): string {
  return hash('sha256', `form ${token}`, 'base64url')
}

export function isValidCsrfToken(token: string, proof = ''): boolean {
  return isEqualSecret(proof, csrfToken(token))
}
