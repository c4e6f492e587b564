import { Type } from 'typebox'
import { endSession } from '../../service/sessions/end-session.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { doneShape, tokenField } from './schemas.ts'

export const deleteSessionRoute = route({
  method: 'POST',
  path: '/api/delete-session',
  title: 'End a session',
  about: 'Ends the session now. Its mail is gone, its token opens nothing any more.',
  input: Type.Object({ token: tokenField }),
  output: doneShape,
  refusals: ['invalid_token', 'session_expired'],
  async handle({ token }, needs) {
    await endSession(needs, token)
    return success({ message: 'The session is over.' })
  },
})
