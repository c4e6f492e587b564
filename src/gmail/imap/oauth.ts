import { ImapError } from './errors.ts'
import type { OAuthClient } from './options.ts'

const TIMEOUT_MS = 15_000
const DEFAULT_LIFETIME_S = 3_600
// The token must outlive the login that uses it.
const MARGIN_S = 120

// RFC 6749 5.2. Other error codes are not repeated: they could contain anything.
const TOKEN_ERRORS: Record<string, string> = {
  invalid_grant: 'the refresh token is no longer accepted: the owner must authorize access again',
  invalid_client: 'the provider does not accept the client id and secret',
  unauthorized_client: 'the client is not allowed to use refresh tokens',
  unsupported_grant_type: 'the token server does not support refresh tokens',
  invalid_request: 'the token server does not accept the request',
  invalid_scope: 'the refresh token does not grant access to mail',
}

/** Access tokens of one account, cached until shortly before they expire. */
export function tokenSource(
  client: OAuthClient,
  { now, signal }: { now(): Date; signal: AbortSignal },
) {
  let cached: { token: string; until: number } | undefined
  return {
    /** `fresh` if it was requested just now. */
    async token(): Promise<{ token: string; fresh: boolean }> {
      const requestedAt = now().getTime()
      if (cached && requestedAt < cached.until) return { token: cached.token, fresh: false }
      const { token, seconds } = parseToken(await requestToken(client, signal))
      const lifetime = Math.max(seconds - MARGIN_S, seconds / 2)
      cached = { token, until: requestedAt + lifetime * 1_000 }
      return { token, fresh: true }
    },
    /** The mail server rejected the cached token. */
    invalidate(): void {
      cached = undefined
    },
  }
}

async function requestToken(client: OAuthClient, signal: AbortSignal): Promise<unknown> {
  const response = await postRefreshToken(client, signal)
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok) return body
  const error = stringField(body, 'error')
  const message = Object.hasOwn(TOKEN_ERRORS, error) ? TOKEN_ERRORS[error] : undefined
  if (message) throw new ImapError('login', `${message} (${error})`)
  throw new ImapError('unreachable', `the token server responds with status ${response.status}`)
}

async function postRefreshToken(client: OAuthClient, signal: AbortSignal): Promise<Response> {
  const response = await fetch(client.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      refresh_token: client.refreshToken,
    }),
    // The secrets must not be sent to any other server.
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  }).catch(() => undefined)
  if (!response) throw new ImapError('unreachable', 'the token server cannot be reached')
  return response
}

function parseToken(body: unknown): { token: string; seconds: number } {
  const token = stringField(body, 'access_token')
  // Must not break out of the login command.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new ImapError('unreachable', 'the token server returns no access token')
  }
  const seconds: unknown = Reflect.get(Object(body), 'expires_in')
  const isValid = typeof seconds === 'number' && seconds > 0
  return { token, seconds: isValid ? seconds : DEFAULT_LIFETIME_S }
}

function stringField(body: unknown, key: string): string {
  const value: unknown = Reflect.get(Object(body), key)
  return typeof value === 'string' ? value : ''
}
