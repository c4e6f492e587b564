import { Type } from 'typebox'
import { readRawMail } from '../../service/mail/read-mail.ts'
import { downloadHeaders, privateFile } from '../server/response.ts'
import { route } from '../server/route.ts'
import { idField, tokenField } from './schemas.ts'
import { traceLines } from './trace-lines.ts'

export const rawMailRoute = route({
  method: 'GET',
  path: '/api/raw-mail',
  title: 'Download a message',
  about:
    'The mail as it came, byte for byte, after Return-Path, Delivered-To and Received lines of ours.',
  input: Type.Object({ token: tokenField, id: idField }),
  output: 'message/rfc822',
  refusals: ['invalid_token', 'session_expired', 'message_not_found'],
  async handle({ token, id }, deps, { client, signal }) {
    const { message, raw } = await readRawMail(deps, { token, id, client, signal: signal() })
    const lines = Buffer.from(traceLines(message, raw, deps.hostname))
    const headers = downloadHeaders(`message-${id}.eml`)
    return privateFile('message/rfc822', Buffer.concat([lines, raw.bytes]), headers)
  },
})
