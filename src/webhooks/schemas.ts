import { Type } from 'typebox'
import type { HeaderField } from '../http/server/route.ts'
import {
  countField,
  enumField,
  isoTimeField,
  named,
  nullable,
  nullableTimeFields,
  timeFields,
} from '../http/server/schemas.ts'
import { recordSchema } from '../keys/api/email-json.ts'
import { linkSchema, wholeMessageFields } from '../mail/api/read-mail.ts'
import { addressField, messageIdField } from '../mail/api/schemas.ts'
import { WEBHOOK_STATES } from './rules.ts'
import { MAX_URL_LENGTH } from './target.ts'

/** What everybody sees of a webhook. */
export const webhookFields = {
  id: Type.String({ examples: ['wh_4bNqC2tZ8yR6uVe0LgYx5f'] }),
  url: Type.String({ examples: ['https://receiver.example/mail'] }),
  state: enumField(WEBHOOK_STATES),
  reason: nullable(
    Type.String({ examples: ['daily_limit'] }),
    'failing: the last error or status; paused: daily_limit, quota_exhausted or plan_expired, or null if its holder has paused it; disabled: gone (the receiver answered 410) or failing (for five days).',
  ),
  to: nullable(addressField, 'Null: all mail visible to the key.'),
  from: nullable(Type.String({ examples: ['shop.example'] })),
  subject: nullable(Type.String({ examples: ['code'] })),
  ...timeFields('created_at'),
  ...nullableTimeFields('last_delivery_at'),
  last_message_id: nullable(messageIdField, 'Of the last delivery.'),
  ...nullableTimeFields(
    'next_attempt_at',
    'For a failing or paused webhook; null if it depends on a renewal.',
  ),
  ...nullableTimeFields(
    'gap_since',
    'Since then, mail may have expired before it was delivered. Cleared by a replay.',
  ),
}
export const holderFields = {
  ...webhookFields,
  backlog: nullable(
    Type.Integer({ examples: [0] }),
    'How many of the next 100 messages are still to be delivered; null with from or subject, or if the webhook sees mail of the pool.',
  ),
  ...nullableTimeFields('old_secret_until', 'Until then, deliveries carry two signatures.'),
}
export const webhookSchema = named('Webhook', holderFields)

export const secretField = Type.String({
  description: 'Verifies the signatures. Shown only here.',
  examples: ['whsec_ and 44 characters, to be kept secret'],
})

const outcomeFields = {
  status: nullable(
    Type.Integer({ examples: [200] }),
    'The status of the response; null if there was none.',
  ),
  error: nullable(
    Type.String({ examples: ['timeout'] }),
    'timeout, not_resolved, not_allowed, connection_failed, tls or invalid_response.',
  ),
  ms: countField(42),
}
export const outcomeSchema = named('DeliveryOutcome', outcomeFields)

export const deliverySchema = named('Delivery', {
  message_id: messageIdField,
  attempt: Type.Integer({ description: 'From 1, per message.', examples: [1] }),
  ...outcomeFields,
  ...timeFields('attempted_at'),
})

export const urlField = Type.String({
  format: 'uri',
  pattern: '^https?://[^\\s\\\\]+$',
  maxLength: MAX_URL_LENGTH,
  description: 'The https URL to deliver to.',
})

export const sinceField = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'Deliver messages newer than this id. By default, a new webhook delivers only mail that arrives from now on.',
})
export const idInput = Type.Object({ id: Type.String({ description: 'A webhook id.' }) })

const { id, from, to, subject, date, date_iso, code, attachments } = recordSchema.properties

/** What is delivered of each type of event. */
export const eventData = {
  'message.received': named('DeliveredMessage', {
    ...{ id, from, to, subject, date, date_iso, code, attachments },
    address: addressField,
    size: wholeMessageFields.size,
    links: Type.Array(linkSchema),
    links_truncated: Type.Optional(
      Type.Literal(true, {
        description: 'Present if links were left out: a body has at most 20 KB.',
      }),
    ),
  }),
  'webhook.test': Type.Object({ webhook_id: webhookFields.id }),
}

const header = (name: string, description: string) => ({ name, required: true, description })

const HEADERS: readonly HeaderField[] = [
  header('webhook-id', 'The same for all attempts; a replay has a new one.'),
  header('webhook-timestamp', 'The time of the attempt, in seconds since 1970.'),
  header('webhook-signature', 'As in Standard Webhooks: v1, and an HMAC-SHA256 in Base64.'),
]

function sentEvent(type: keyof typeof eventData, name: string, title: string, description: string) {
  const fields = { type: Type.Literal(type), timestamp: isoTimeField, data: eventData[type] }
  return { type, title, description, headers: HEADERS, body: named(name, fields) }
}

/** What is posted to the URL of a webhook. */
export const webhookEvents = [
  sentEvent(
    'message.received',
    'MessageReceived',
    'A message has arrived',
    'Posted for each message that the webhook selects, at least once and in order.',
  ),
  sentEvent(
    'webhook.test',
    'WebhookTest',
    'A test of a webhook',
    'Posted once by POST /webhooks/{id}/test.',
  ),
]
