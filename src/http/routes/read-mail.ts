import { Type } from 'typebox'
import type { AttachmentNote, Mail, Message } from '../../core/message.ts'
import { readMail } from '../../service/read-mail.ts'
import { success } from '../answer.ts'
import { route } from '../route.ts'
import { idField, successField, summaryFields, summaryJson, tokenField } from '../shapes.ts'

const nullable = Type.Union([Type.String(), Type.Null()])
const people = Type.Array(
  Type.Object({
    name: Type.String({ examples: ['Ann'] }),
    address: Type.String({ examples: ['ann@sender.example'] }),
  }),
)

const attachmentShape = Type.Object({
  index: Type.Integer({ examples: [0] }),
  filename: Type.String({ examples: ['report.pdf'] }),
  content_type: Type.String({ examples: ['application/pdf'] }),
  size: Type.Integer({ examples: [1_234] }),
  content_id: nullable,
  inline: Type.Boolean(),
  url: Type.String({
    description: 'Relative, without the token.',
    examples: ['/api/attachment?id=ID&index=0'],
  }),
})

const messageShape = Type.Object({
  ...summaryFields,
  body_text: nullable,
  body_html: Type.Union([Type.String(), Type.Null()], {
    description: 'As the sender wrote it. Never show it unless you have made it safe.',
  }),
  to: people,
  cc: people,
  reply_to: people,
  message_id: nullable,
  date: nullable,
  size: Type.Integer({ examples: [1_234] }),
  attachments: Type.Array(attachmentShape),
  headers: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), value: Type.String() }), {
      description: 'When headers=1.',
    }),
  ),
  codes: Type.Array(Type.Unknown()),
  links: Type.Array(Type.Unknown()),
  auth: Type.Null(),
  raw_url: Type.String({
    description: 'Relative, without the token.',
    examples: ['/api/raw-mail?id=ID'],
  }),
})

export const readMailRoute = route({
  method: 'GET',
  path: '/api/read-mail',
  title: 'Read a message',
  about: 'One message in full. Attachments are listed here and fetched by themselves.',
  input: Type.Object({
    token: tokenField,
    id: idField,
    headers: Type.Optional(Type.Boolean({ description: 'Give the header lines too.' })),
  }),
  output: Type.Object({ status: successField, message: messageShape }),
  refusals: ['invalid_token', 'session_expired', 'message_not_found', 'shutting_down'],
  async handle({ token, id, headers = false }, needs) {
    const { message, mail } = await readMail(needs, token, id)
    return success({ message: messageJson(message, mail, headers) })
  },
})

function messageJson(message: Message, mail: Mail, withHeaders: boolean) {
  return {
    ...summaryJson(message),
    body_text: mail.text,
    body_html: mail.html,
    to: mail.to,
    cc: mail.cc,
    reply_to: mail.replyTo,
    message_id: mail.messageId,
    date: mail.date,
    size: message.size,
    attachments: mail.attachments.map((note) => attachmentJson(message.id, note)),
    ...(withHeaders ? { headers: mail.headers } : {}),
    codes: [],
    links: [],
    auth: null,
    raw_url: `/api/raw-mail?id=${message.id}`,
  }
}

function attachmentJson(id: number, note: AttachmentNote) {
  return {
    index: note.index,
    filename: note.filename,
    content_type: note.contentType,
    size: note.size,
    content_id: note.contentId,
    inline: note.inline,
    url: `/api/attachment?id=${id}&index=${note.index}`,
  }
}
