import { type Static, Type } from 'typebox'
import { ADDRESS_SYNTAX } from '../../base/address.ts'
import { timestampFields } from '../../base/time.ts'
import type { HttpRequest } from '../../http/server/request.ts'
import { named, nullable, timeFields } from '../../http/server/schemas.ts'
import { attachmentFields, linkSchema, wholeMessageFields } from '../../mail/api/read-mail.ts'
import { addressField, messageIdField } from '../../mail/api/schemas.ts'
import type { Message } from '../../mail/rules/message.ts'
import type { Mail, SenderChecks } from '../../shared/mail.ts'
import { authenticateKey } from '../authenticate-key.ts'
import type { KeyRouteDeps } from '../deps.ts'
import { type EmailRecord, emailRecord, MAX_LINKS } from '../emails/email-record.ts'
import { callerOf } from './quota-headers.ts'

// What the endpoints that read mail with a key have in common.

/** Each 200 is charged as one request. */
export const CHARGED = {
  problems: ['invalid_key', 'plan_expired', 'quota_exhausted', 'daily_limit'],
  api: 'keyed',
  authenticate: async (deps: KeyRouteDeps, request: HttpRequest) =>
    await authenticateKey(deps, callerOf(deps, request)),
} as const

export const toField = Type.Optional(
  Type.String({
    pattern: `^(?:[^<>]*<\\s*${ADDRESS_SYNTAX}\\s*>|\\s*${ADDRESS_SYNTAX})\\s*$`,
    description: 'Only mail to this address; a display name is ignored.',
  }),
)

const recordFields = {
  id: messageIdField,
  from: Type.String({ examples: ['ann@sender.example'] }),
  to: Type.String({
    description: 'As in the To or Cc header, otherwise the bare address.',
    examples: ['You <you@mayfly.example>'],
  }),
  subject: Type.String({ examples: ['Your code'] }),
  ...timeFields('date'),
  body: Type.String({
    description: 'Plain text, converted from HTML if there is no text; at most 256 KB.',
    examples: ['Your code is 123456.'],
  }),
  truncated: Type.Optional(
    Type.Literal(true, { description: 'Present if the body was truncated.' }),
  ),
  code: nullable(
    Type.String({ examples: ['123456'] }),
    'The most likely code in the mail. Null: none found.',
  ),
  links: Type.Array(linkSchema, {
    maxItems: MAX_LINKS,
    description: `At most ${MAX_LINKS}: those that verify an address, sign in or reset a password first.`,
  }),
  attachments: Type.Integer({
    description: 'The number of attachments, not counting images that the HTML displays.',
    examples: [0],
  }),
  has_html: Type.Boolean(),
}

export const recordSchema = named('Email', recordFields)

export const wholeEmailSchema = named('WholeEmail', {
  ...recordFields,
  ...wholeMessageFields,
  address: addressField,
  body: Type.String({
    description: 'All of the plain text, converted from HTML if there is no text.',
    examples: ['Your code is 123456.'],
  }),
  attachments: Type.Array(named('EmailAttachment', attachmentFields), {
    description: 'All of them, with images that the HTML displays.',
  }),
})

export function recordJson(record: EmailRecord): Static<typeof recordSchema> {
  const { id, from, to, subject, receivedAt, body, truncated, hasHtml, ...found } = record
  const { code, links, attachments } = found
  return {
    id,
    from,
    to,
    subject,
    ...timestampFields('date', receivedAt),
    body,
    ...(truncated ? { truncated } : {}),
    code,
    links,
    attachments,
    has_html: hasHtml,
  }
}

/** Long strings of the mail may be placeholders: see MailJson. */
export function wholeEmailJson(
  message: Message,
  mail: Mail,
  checks: SenderChecks | undefined,
): Static<typeof wholeEmailSchema> {
  const { truncated: _, ...record } = recordJson(emailRecord(message, mail))
  return {
    ...record,
    ...(mail.truncated ? { truncated: true } : {}),
    address: message.recipient,
    body: mail.text ?? '',
    body_html: mail.html,
    size: message.size,
    codes: mail.codes,
    links: mail.links,
    attachments: mail.attachments.map(({ index, filename, contentType, size }) => ({
      index,
      filename,
      content_type: contentType,
      size,
    })),
    auth: checks ?? null,
  }
}
