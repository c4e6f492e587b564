import { ImapFault } from './errors.ts'
import type { OAuthClient } from './options.ts'

/** Access tokens of one account, fetched when the last one is about to end. */
interface TokenSource {
  /** `fresh` when it was fetched just now. */
  token(): Promise<{ token: string; fresh: boolean }>
  /** The server did not take it: the next one is fetched anew. */
  forget(): void
}

const ANSWER_MS = 15_000
const MAX_ANSWER = 64 * 1024
const USUAL_LIFE_S = 3_600
// A login that begins with a token must also end with it.
const MARGIN_S = 120

// RFC 6749 5.2. Anything else a server calls its refusal is not repeated: it could be anything.
const REFUSALS: Record<string, string> = {
  invalid_grant: 'the refresh token is no longer accepted: the account’s owner must agree again',
  invalid_client: 'the provider does not accept the client id and secret',
  unauthorized_client: 'the client may not use refresh tokens',
  unsupported_grant_type: 'the token server does not know refresh tokens',
  invalid_request: 'the token server does not understand the request',
  invalid_scope: 'the refresh token is for something else than mail',
}

export function tokenSource(
  client: OAuthClient,
  { now, ended }: { now(): Date; ended: AbortSignal },
): TokenSource {
  let held: { token: string; until: number } | undefined
  return {
    async token() {
      const asked = now().getTime()
      if (held && asked < held.until) return { token: held.token, fresh: false }
      const { token, seconds } = readToken(await askForToken(client, ended))
      const life = Math.max(seconds - MARGIN_S, seconds / 2)
      held = { token, until: asked + life * 1_000 }
      return { token, fresh: true }
    },
    forget() {
      held = undefined
    },
  }
}

async function askForToken(client: OAuthClient, ended: AbortSignal): Promise<unknown> {
  const response = await request(client, ended)
  const text = await response.text().catch(() => '')
  const answer = text.length > MAX_ANSWER ? undefined : parsed(text)
  if (response.ok) return answer
  const error = textOf(answer, 'error')
  const refusal = Object.hasOwn(REFUSALS, error) ? REFUSALS[error] : undefined
  if (refusal) throw new ImapFault('login', `${refusal} (${error})`)
  throw new ImapFault('unreachable', `the token server answers ${response.status}`)
}

async function request(client: OAuthClient, ended: AbortSignal): Promise<Response> {
  const response = await fetch(client.tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      refresh_token: client.refreshToken,
    }),
    // The secrets are for this server and no other.
    redirect: 'error',
    signal: AbortSignal.any([ended, AbortSignal.timeout(ANSWER_MS)]),
  }).catch(() => undefined)
  if (!response) throw new ImapFault('unreachable', 'the token server cannot be reached')
  return response
}

function readToken(answer: unknown): { token: string; seconds: number } {
  const token = textOf(answer, 'access_token')
  // What goes into a login line must not end it.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new ImapFault('unreachable', 'the token server gives no access token')
  }
  const seconds: unknown = Reflect.get(Object(answer), 'expires_in')
  return { token, seconds: typeof seconds === 'number' && seconds > 0 ? seconds : USUAL_LIFE_S }
}

function textOf(answer: unknown, key: string): string {
  const value: unknown = Reflect.get(Object(answer), key)
  return typeof value === 'string' ? value : ''
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
