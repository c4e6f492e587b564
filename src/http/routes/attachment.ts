import { Type } from 'typebox'
import { Problem } from '../../core/problem.ts'
import { readRawMail } from '../../service/read-mail.ts'
import { privateFile } from '../answer.ts'
import { downloadHeaders } from '../disposition.ts'
import { route } from '../route.ts'
import { idField, tokenField } from '../shapes.ts'

// What a page may show as a picture. Not SVG, which is a program.
const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export const attachmentRoute = route({
  method: 'GET',
  path: '/api/attachment',
  title: 'Download an attachment',
  about: 'One attachment as a file, by its index in read-mail.',
  input: Type.Object({
    token: tokenField,
    id: idField,
    index: Type.Integer({ minimum: 0, description: 'As read-mail numbers them.' }),
  }),
  output: 'application/octet-stream',
  refusals: ['invalid_token', 'session_expired', 'message_not_found', 'not_found', 'shutting_down'],
  async handle({ token, id, index }, needs) {
    const { raw } = await readRawMail(needs, token, id)
    const found = await needs.attachment(raw.bytes, index)
    if (!found) throw new Problem('not_found', 'index: this message has no such attachment.')
    const { contentType, filename } = found.note
    const type = PICTURES.has(contentType) ? contentType : 'application/octet-stream'
    return privateFile(type, found.bytes, downloadHeaders(filename))
  },
})
