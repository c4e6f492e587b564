import { Type } from 'typebox'
import { deleteMail } from '../../service/mail/read-mail.ts'
import { success } from '../server/response.ts'
import { route } from '../server/route.ts'
import { idField, messageSchema, tokenField } from './schemas.ts'

export const deleteMailRoute = route({
  method: 'POST',
  path: '/api/delete-mail',
  title: 'Delete a message',
  about: 'Deletes one message permanently.',
  input: Type.Object({ token: tokenField, id: idField }),
  output: messageSchema,
  problems: ['invalid_token', 'session_expired', 'message_not_found'],
  async handle({ token, id }, deps) {
    await deleteMail(deps, token, id)
    return success({ message: 'Message deleted.' })
  },
})
