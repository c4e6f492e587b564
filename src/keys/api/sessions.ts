import { Type } from 'typebox'
import { ADDRESS_SYNTAX } from '../../base/address.ts'
import { timestampFields } from '../../base/time.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import {
  countField,
  messageSchema,
  named,
  namedSuccess,
  nullable,
  timeFields,
} from '../../http/server/schemas.ts'
import {
  DEFAULT_LIMIT,
  mailboxFields,
  mailboxJson,
  rulesJson,
  rulesSchema,
  sessionJson,
  sessionSchema,
} from '../../mail/api/schemas.ts'
import type { Session } from '../../mail/rules/session.ts'
import { authenticateRollingKey, authenticateSessionHolder } from '../authenticate-key.ts'
import type { KeyRouteDeps } from '../deps.ts'
import { endKeySession, listKeySessions, rollSessionToken } from '../key-sessions.ts'
import { cursorOf, parseCursor } from './emails.ts'
import { authenticatedKey, callerOf } from './quota-headers.ts'

const PATH = '/sessions'

/** All are free. */
const keyed = (authenticate: typeof authenticateSessionHolder) =>
  ({
    api: 'keyed',
    authenticate: (deps: KeyRouteDeps, request: HttpRequest) =>
      authenticate(deps, callerOf(deps, request)),
  }) as const

const keySessionSchema = named('KeySession', {
  ...mailboxFields,
  ...timeFields('created_at'),
  messages: countField(3),
  rules: rulesSchema,
  label: nullable(Type.String({ examples: ['sign-up test'] })),
})

function keySessionJson(session: Session) {
  return {
    ...mailboxJson(session),
    ...timestampFields('created_at', session.createdAt),
    messages: session.count,
    ...rulesJson(session),
    label: session.label ?? null,
  }
}

const ofOneSession = {
  method: 'POST',
  input: Type.Object({
    email: Type.String({
      pattern: `^${ADDRESS_SYNTAX}$`,
      description: 'The address of a live session created with the key.',
    }),
  }),
} as const

export const keySessionRoutes = [
  route({
    ...keyed(authenticateSessionHolder),
    method: 'GET',
    path: PATH,
    name: 'list-sessions',
    title: 'List the sessions of a key',
    description:
      'The live sessions that were created with the key, newest first. Link points to the next page. Free, and available even if the quota is exhausted or the plan has expired.',
    input: Type.Object({
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 500,
          description: `Maximum number of sessions; default ${DEFAULT_LIMIT}.`,
        }),
      ),
      cursor: Type.Optional(
        Type.String({ description: 'From the Link header of the previous page, or next_cursor.' }),
      ),
      permanent: Type.Optional(
        Type.Boolean({ description: 'Only sessions that do not expire, at domains of the key.' }),
      ),
    }),
    output: namedSuccess('KeySessions', {
      sessions: Type.Array(keySessionSchema),
      next_cursor: nullable(Type.String(), 'Null: this is the last page.'),
    }),
    responseHeaders: ['Link'],
    problems: ['invalid_key'],
    async handle(
      { limit = DEFAULT_LIMIT, cursor, permanent = false },
      deps: KeyRouteDeps,
      request,
    ) {
      const beforeId = cursor === undefined ? undefined : parseCursor(cursor)
      const page = { beforeId, limit, permanent }
      const found = await listKeySessions(deps, authenticatedKey(request).id, page)
      const next = found.nextAfter === undefined ? null : cursorOf(found.nextAfter)
      const response = success({ sessions: found.sessions.map(keySessionJson), next_cursor: next })
      if (next === null) return response
      const query = new URLSearchParams({ limit: String(limit), cursor: next })
      if (permanent) query.set('permanent', '1')
      const link = `<${PATH}?${query}>; rel="next"`
      return { ...response, headers: { ...response.headers, link } }
    },
  }),
  route({
    ...ofOneSession,
    ...keyed(authenticateSessionHolder),
    path: `${PATH}/end`,
    name: 'end-session',
    title: 'End a session of a key',
    description:
      'Ends the session at once: its mail is deleted and its token becomes invalid. Free, and available even if the quota is exhausted or the plan has expired.',
    output: messageSchema,
    problems: ['invalid_key', 'session_not_found'],
    async handle({ email }, deps: KeyRouteDeps, request) {
      await endKeySession(deps, authenticatedKey(request).id, email)
      return success({ message: 'Session deleted.' })
    },
  }),
  route({
    ...ofOneSession,
    ...keyed(authenticateRollingKey),
    path: `${PATH}/roll-token`,
    name: 'roll-session-token',
    title: 'Replace the token of a session',
    description:
      'Returns a new token for the session. The former one becomes invalid at once: its open streams and waiting requests end, and it cannot extend or revive the session. The new token is returned only here. Free.',
    output: sessionSchema,
    problems: ['invalid_key', 'quota_exhausted', 'plan_expired', 'session_not_found'],
    async handle({ email }, deps: KeyRouteDeps, request) {
      const key = authenticatedKey(request)
      const { session, token } = await rollSessionToken(deps, key.id, email)
      return success(sessionJson(session, token))
    },
  }),
]
