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
    'Sets the expiry of the session to ttl seconds from now. An expired session is revived, empty, while its address is still reserved. At most ten times a minute per token.',
  input: Type.Object({ token: tokenField, ttl: ttlField }),
  output: sessionSchema,
  problems: ['invalid_token', 'session_expired'],
  async handle({ token, ttl }, deps, request) {
    if (request.client !== undefined) await takeRate(deps, 'extendSession', secretHash(token))
    return success(sessionJson(await extendSession(deps, token, ttl), token))
  },
})
