import { Type } from 'typebox'
import { secretHash } from '../../core/id.ts'
import { takeRate } from '../../service/rates.ts'
import { extendSession } from '../../service/sessions/extend-session.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { sessionJson, sessionSchema, tokenField, ttlField } from './schemas.ts'

export const extendSessionRoute = route({
  method: 'POST',
  path: '/api/extend-session',
  title: 'Extend a session',
  about:
    'Moves the end of the session to ttl seconds from now. A session that is over comes back, empty, as long as its address is kept for you. Ten times a minute at most for each token.',
  input: Type.Object({ token: tokenField, ttl: ttlField }),
  output: sessionSchema,
  problems: ['invalid_token', 'session_expired'],
  async handle({ token, ttl }, deps, request) {
    if (request.client !== undefined) await takeRate(deps, 'extendSession', secretHash(token))
    return success(sessionJson(await extendSession(deps, token, ttl), token))
  },
})
