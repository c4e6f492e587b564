import { Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import type { ServerDeps } from '../http/server/deps.ts'
import { contentResponse } from '../http/server/response.ts'
import { route } from '../http/server/route.ts'

export interface AcmeRouteDeps extends ServerDeps {
  /** The key authorization of a token; undefined if there is none. */
  acmeChallenge(token: string): Promise<string | undefined>
}

/** RFC 8555 8.3, http-01. */
export const acmeChallengeRoute = route({
  method: 'GET',
  path: '/.well-known/acme-challenge/{token}',
  input: Type.Object({ token: Type.String() }),
  async handle({ token }, { acmeChallenge }: AcmeRouteDeps) {
    // A name with a dot is a host, and its challenge is for TLS.
    const found = token.includes('.') ? undefined : await acmeChallenge(token)
    if (found === undefined) throw new Problem('not_found', 'Not found.')
    return contentResponse('application/octet-stream', found, { 'cache-control': 'no-store' })
  },
})
