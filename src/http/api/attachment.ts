import { Type } from 'typebox'
import { readAttachment } from '../../service/mail/read-mail.ts'
import { downloadHeaders, privateContentResponse } from '../server/response.ts'
import { route } from '../server/route.ts'
import { idField, tokenField } from './schemas.ts'

// Safe to display. SVG is not: it can contain scripts.
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export const attachmentRoute = route({
  method: 'GET',
  path: '/api/attachment',
  title: 'Download an attachment',
  about: 'Downloads one attachment, by its index in read-mail.',
  input: Type.Object({
    token: tokenField,
    id: idField,
    index: Type.Integer({ minimum: 0, description: 'The index of the attachment in read-mail.' }),
  }),
  output: 'application/octet-stream',
  problems: ['invalid_token', 'session_expired', 'message_not_found', 'not_found', 'shutting_down'],
  async handle(asked, deps, { client, signal }) {
    const { info, bytes } = await readAttachment(deps, { ...asked, client, signal: signal() })
    const { contentType, filename } = info
    const type = IMAGE_TYPES.has(contentType) ? contentType : 'application/octet-stream'
    return privateContentResponse(type, bytes, downloadHeaders(filename))
  },
})
