import { Type } from 'typebox'
import {
  countField,
  enumField,
  named,
  nullable,
  nullableTimeFields,
  timeFields,
} from '../http/server/schemas.ts'
import { addressField, messageIdField } from '../mail/api/schemas.ts'
import { WEBHOOK_STATES } from './rules.ts'

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

export const sinceField = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'Deliver messages newer than this id. By default, a new webhook delivers only mail that arrives from now on.',
})
export const idInput = Type.Object({ id: Type.String({ description: 'A webhook id.' }) })
