import { Type } from 'typebox'
import { endSession } from '../../service/end-session.ts'
import { success } from '../answer.ts'
import { route } from '../route.ts'
import { doneShape, tokenField } from '../shapes.ts'

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
