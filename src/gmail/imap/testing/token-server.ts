import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { OAuthClient } from '../options.ts'

export const CLIENT_SECRET = 'canary-client-secret-4W'
export const REFRESH_TOKEN = 'canary-refresh-token-9K'

/** An OAuth2 server: issues access tokens for a refresh token, and introspects them for Dovecot. */
export async function openTokenServer(email: string) {
  const state = {
    /** Issued access tokens, and whether they are valid. */
    tokens: new Map<string, boolean>(),
    expiresIn: 3_600,
    /** Response in place of a token. */
    refuse: undefined as { status: number; body: string } | undefined,
    introspections: 0,
  }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const [status, value] = respond(request.url ?? '', new URLSearchParams(body))
      response.writeHead(status, { 'content-type': 'application/json' }).end(value)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  function respond(path: string, form: URLSearchParams): [number, string] {
    if (path === '/introspect') {
      state.introspections += 1
      const active = state.tokens.get(form.get('token') ?? '') === true
      return [200, JSON.stringify(active ? { active, email } : { active })]
    }
    if (state.refuse) return [state.refuse.status, state.refuse.body]
    const isValid =
      form.get('grant_type') === 'refresh_token' &&
      form.get('client_secret') === CLIENT_SECRET &&
      form.get('refresh_token') === REFRESH_TOKEN
    if (!isValid) return [400, '{"error":"invalid_grant"}']
    const token = `canary-access-token-${state.tokens.size + 1}`
    state.tokens.set(token, true)
    return [200, JSON.stringify({ access_token: token, expires_in: state.expiresIn })]
  }

  const oauth: OAuthClient = {
    clientId: 'client.test',
    clientSecret: CLIENT_SECRET,
    refreshToken: REFRESH_TOKEN,
    tokenUrl: `${url}/token`,
  }
  return {
    state,
    oauth,
    introspectionUrl: `${url}/introspect`,
    revokeTokens() {
      for (const token of state.tokens.keys()) state.tokens.set(token, false)
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
