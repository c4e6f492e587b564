import { notReadyReason, unlessUnavailable } from '../../base/jobs/outage.ts'
import { Problem } from '../../base/problem.ts'
import { timestampFields } from '../../base/time.ts'

import { adminRoute, logAction } from '../../http/server/admin-route.ts'
import { requireAdminToken } from '../../http/server/credentials.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { json, success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { messageSchema, nullableTimeFields, successSchema } from '../../http/server/schemas.ts'
import type { AdminDeps } from '../deps.ts'
import { OPERATOR_SESSION_SECONDS, signIn, signOut } from '../session.ts'
import { signInCookie, signInId } from './require-operator.ts'

export const signInRoutes = [
  route({
    method: 'POST',
    path: '/admin/api/sign-in',
    title: 'Sign in',
    description:
      'Exchanges the admin token, sent as Authorization: Bearer, for a cookie that is valid for 12 hours.',
    output: successSchema(nullableTimeFields('expires_at')),
    problems: ['invalid_token', 'overloaded'],
    api: 'admin',
    async handle(_input, deps: AdminDeps, request) {
      // The token is never a parameter: no form of another site can sign in, and no address contains it.
      await requireAdminToken(deps, request)
      const id = await unlessUnavailable(startSession(deps, request))
      // The client has the token, so it may know why.
      if (id === undefined) throw unavailable(await notReadyReason(deps))
      logAction(deps, request, '/sign-in')
      const expiresAt = new Date(deps.now().getTime() + OPERATOR_SESSION_SECONDS * 1_000)
      return json(
        { status: 'success' as const, ...timestampFields('expires_at', expiresAt) },
        signInCookie(request.secure(), id, OPERATOR_SESSION_SECONDS),
      )
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/sign-in',
    title: 'Check the sign-in',
    description: 'Succeeds if the cookie or the token is valid.',
    output: messageSchema,
    async handle() {
      return success({ message: 'Signed in.' })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/sign-out',
    title: 'Sign out',
    description: 'Ends the sign-in of this cookie.',
    output: messageSchema,
    async handle(_input, deps: AdminDeps, request) {
      const id = signInId(request)
      if (id !== undefined) await signOut(deps, id)
      const made = success({ message: 'Signed out.' })
      const headers = { ...made.headers, ...signInCookie(request.secure(), '', 0) }
      return { ...made, headers }
    },
  }),
]

/** Replaces the sign-in of this browser, if it has one. */
async function startSession(deps: AdminDeps, request: HttpRequest): Promise<string> {
  const last = signInId(request)
  if (last !== undefined) await signOut(deps, last)
  return await signIn(deps)
}

function unavailable(reason = 'the store is unavailable'): Problem {
  return new Problem('overloaded', `Nobody can sign in now: ${reason}`)
}
