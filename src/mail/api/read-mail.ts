import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import { jsonResponse, preparedJson, success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { enumField, named, nullable, successSchema } from '../../http/server/schemas.ts'
import {
  type AttachmentInfo,
  CHECK_RESULTS,
  isConclusive,
  LINK_KINDS,
  type Mail,
  type SenderChecks,
} from '../../shared/mail.ts'
import type { MailRouteDeps } from '../deps.ts'
import { jsonParts } from '../read/long-strings.ts'
import {
  deleteMail,
  deleteSeveral,
  findMessage,
  readMail,
  readMailJson,
} from '../read/read-mail.ts'
import type { Message } from '../rules/message.ts'
import { liveSession } from '../sessions/session.ts'
import { idField, summaryFields, summaryJson, tokenField } from './schemas.ts'

const textOrNull = nullable(Type.String())
const mailboxes = Type.Array(
  named('NamedAddress', {
    name: Type.String({ examples: ['Ann'] }),
    address: Type.String({ examples: ['ann@sender.example'] }),
  }),
)

export const attachmentFields = {
  index: Type.Integer({ examples: [0] }),
  filename: Type.String({ examples: ['report.pdf'] }),
  content_type: Type.String({ examples: ['application/pdf'] }),
  size: Type.Integer({ examples: [1_234] }),
}

const attachmentSchema = named('Attachment', {
  ...attachmentFields,
  content_id: textOrNull,
  inline: Type.Boolean(),
  url: Type.String({
    description: 'Relative, without the token.',
    examples: ['/api/attachment?id=ID&index=0'],
  }),
})

const codeSchema = named('Code', {
  value: Type.String({
    description:
      'As it should be typed, without spaces, dots or hyphens used for readability; words keep them.',
    examples: ['123456'],
  }),
  kind: enumField(['digits', 'letters_and_digits', 'words']),
  confidence: Type.Number({ minimum: 0, maximum: 1, examples: [0.98] }),
})

export const linkSchema = named('Link', {
  url: Type.String({ examples: ['https://sender.example/verify?t=1'] }),
  text: Type.String({ description: 'The text of the link.', examples: ['Confirm your address'] }),
  host: Type.String({
    description: 'The actual host, in ASCII.',
    examples: ['sender.example'],
  }),
  kind: enumField(LINK_KINDS),
})

const checkResult = enumField(CHECK_RESULTS, { $id: 'CheckResult' })
const authSchema = named('SenderChecks', {
  spf: checkResult,
  dkim: checkResult,
  dmarc: checkResult,
})

/** What only a whole message has, with a token or with a key. */
export const wholeMessageFields = {
  body_html: nullable(Type.String(), 'As the sender wrote it. Sanitize it before you display it.'),
  truncated: Type.Optional(
    Type.Literal(true, { description: 'Present if a parsing limit truncated the text.' }),
  ),
  size: Type.Integer({ examples: [1_234] }),
  codes: Type.Array(codeSchema, {
    description: 'Verification codes, most likely first.',
  }),
  links: Type.Array(linkSchema),
  auth: nullable(authSchema, 'Sender checks. Null: disabled or not finished.'),
}

export const fullMessageSchema = named('Message', {
  ...summaryFields,
  ...wholeMessageFields,
  body_text: textOrNull,
  to: mailboxes,
  cc: mailboxes,
  reply_to: mailboxes,
  message_id: textOrNull,
  date: textOrNull,
  attachments: Type.Array(attachmentSchema),
  headers: Type.Optional(
    Type.Array(named('Header', { name: Type.String(), value: Type.String() }), {
      description: 'With headers=1.',
    }),
  ),
  raw_url: Type.String({
    description: 'Relative, without the token.',
    examples: ['/api/raw-mail?id=ID'],
  }),
})

const readInput = Type.Object({
  token: tokenField,
  id: idField,
  headers: Type.Optional(Type.Boolean({ description: 'Include the header lines.' })),
})

export const readMailRoute = route({
  method: 'GET',
  path: '/api/read-mail',
  title: 'Read a message',
  description: 'One message in full. Attachments are listed here and downloaded separately.',
  input: readInput,
  output: successSchema({ message: fullMessageSchema }),
  problems: ['invalid_token', 'session_expired', 'message_not_found', 'shutting_down'],
  async handle(
    { token, id, headers = false },
    deps: MailRouteDeps,
    { client, signal, reserveSendBudget },
  ) {
    // Every change of the mailbox changes the version, a deletion too.
    const session = await liveSession(deps, token)
    const cacheKey = `read ${session.id} ${id} ${headers}`
    const cached = deps.responseCache.get(cacheKey, session.version)
    if (cached) return cached
    const message = await findMessage(deps, token, id, session)
    const reading = { client, signal: signal(), reserve: reserveSendBudget }
    const { mail, long, checks } = await readMailJson(deps, message, reading)
    const shown = messageJson(message, mail, checks)
    const body = { message: headers ? { ...shown, headers: mail.headers } : shown }
    if (long.size > 0) return jsonResponse(jsonParts({ status: 'success', ...body }, long))
    const isFinal = !deps.checksSenders || (checks !== undefined && isConclusive(checks))
    if (!isFinal) return success(body)
    const response = preparedJson({ status: 'success', ...body }, {})
    deps.responseCache.set(cacheKey, session.version, response)
    return response
  },
})

const MAX_BRIEF_CHARS = 64 * 1024

/** The same without HTML and with the beginning of the text: what a tool of /mcp can return. Nothing large is serialized. */
export const readTextRoute = route({
  ...readMailRoute,
  input: readInput,
  async handle({ token, id }, deps: MailRouteDeps, { client, signal }) {
    const message = await findMessage(deps, token, id)
    const { mail, checks } = await readMail(deps, message, { client, signal: signal() })
    const text = mail.text?.slice(0, MAX_BRIEF_CHARS) ?? null
    return success({ message: messageJson(message, { ...mail, text, html: null }, checks) })
  },
})

function messageJson(message: Message, mail: Mail, checks: SenderChecks | undefined) {
  return {
    ...summaryJson(message),
    // The stored summary may not have it yet.
    code: mail.codes[0]?.value ?? null,
    body_text: mail.text,
    body_html: mail.html,
    ...(mail.truncated ? { truncated: true as const } : {}),
    to: mail.to,
    cc: mail.cc,
    reply_to: mail.replyTo,
    message_id: mail.messageId,
    date: mail.date,
    size: message.size,
    attachments: mail.attachments.map((note) => attachmentJson(message.id, note)),
    codes: mail.codes,
    links: mail.links,
    auth: checks ?? null,
    raw_url: `/api/raw-mail?id=${message.id}`,
  }
}

function attachmentJson(id: number, note: AttachmentInfo) {
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

const selectionFields = {
  id: Type.Optional(idField),
  ids: Type.Optional(
    Type.Array(idField, {
      minItems: 1,
      maxItems: 500,
      description: 'Up to 500 ids, as a JSON array or separated by commas.',
    }),
  ),
  all: Type.Optional(
    Type.Boolean({ description: 'With up_to_id: delete all messages up to that id.' }),
  ),
  up_to_id: Type.Optional({
    ...idField,
    description: 'With all=1: messages newer than this id are kept.',
  }),
}

const all = (is: boolean) => ({ all: { const: is } })

/** What parseSelection accepts. */
const SELECTION = {
  oneOf: [
    { required: ['id'], properties: { id: selectionFields.id, ...all(false) } },
    { required: ['ids'], properties: { ids: selectionFields.ids, ...all(false) } },
    {
      required: ['all', 'up_to_id'],
      properties: { ...all(true), up_to_id: selectionFields.up_to_id, id: false, ids: false },
    },
  ],
  dependentSchemas: { up_to_id: { required: ['all'], properties: all(true) } },
}

export const deleteMailRoute = route({
  method: 'POST',
  path: '/api/delete-mail',
  title: 'Delete messages',
  description:
    'Deletes messages permanently: one with id, several with ids, or every message up to up_to_id with all=1. Use exactly one of the three. An unknown id is an error; unknown ids in ids are ignored.',
  input: Type.Object({ token: tokenField, ...selectionFields }, SELECTION),
  output: successSchema({
    message: Type.String(),
    deleted: Type.Integer({ description: 'How many messages were deleted.', examples: [1] }),
  }),
  problems: ['invalid_token', 'session_expired', 'message_not_found'],
  async handle({ token, ...input }, deps: MailRouteDeps) {
    const selection = parseSelection(input)
    if ('id' in selection) {
      await deleteMail(deps, token, selection.id)
      return success({ message: 'Message deleted.', deleted: 1 })
    }
    const deleted = await deleteSeveral(deps, token, selection)
    return success({ message: `Messages deleted: ${deleted}.`, deleted })
  },
})

interface SelectionInput {
  id?: number
  ids?: number[]
  all?: boolean
  up_to_id?: number
}

function parseSelection({ id, ids, all = false, up_to_id: upToId }: SelectionInput) {
  const given = [id !== undefined, ids !== undefined, all].filter(Boolean).length
  if (given === 0)
    throw new Problem('missing_parameter', 'id: one of id, ids and all=1 is required.')
  if (given > 1) throw new Problem('invalid_parameter', 'id: use only one of id, ids and all=1.')
  if (all && upToId === undefined) {
    throw new Problem('missing_parameter', 'up_to_id: parameter is missing.')
  }
  if (!all && upToId !== undefined) {
    throw new Problem('invalid_parameter', 'up_to_id: only with all=1.')
  }
  if (id !== undefined) return { id }
  return ids === undefined ? { upToId: upToId ?? 0 } : { ids }
}
