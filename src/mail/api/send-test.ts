import { Type } from 'typebox'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { messageSchema } from '../../http/server/schemas.ts'
import type { MailRouteDeps } from '../deps.ts'
import { sendTestMail } from '../send-test.ts'
import { tokenField } from './schemas.ts'

export const sendTestRoute = route({
  method: 'POST',
  path: '/api/send-test',
  name: 'send-test-mail',
  title: 'Send a test message',
  description:
    'Sends one message with a code to the session address, from our postmaster, through our own SMTP server. At most once a minute per session and ten times a minute per client. Not available for Gmail aliases, nor if the rules of the address reject the message.',
  input: Type.Object({ token: tokenField }),
  output: messageSchema,
  problems: ['invalid_token', 'session_expired', 'not_allowed'],
  async handle({ token }, deps: MailRouteDeps, { client }) {
    await sendTestMail(deps, { token, client })
    return success({ message: 'Test message sent.' })
  },
})
