import { Type } from 'typebox'
import { endSession } from '../../service/sessions/session.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { messageSchema, tokenField } from './schemas.ts'

export const deleteSessionRoute = route({
  method: 'POST',
  path: '/api/delete-session',
  title: 'End a session',
  about: 'Ends the session at once. Its mail is deleted and its token becomes invalid.',
  input: Type.Object({ token: tokenField }),
  output: messageSchema,
  problems: ['invalid_token', 'session_expired'],
  async handle({ token }, deps) {
    await endSession(deps, token)
    return success({ message: 'Session deleted.' })
  },
})
