import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import { isoTimestamp, timestampFields, utcTimestamp } from '../../base/time.ts'
import { KEY_HEADER } from '../../http/server/credentials.ts'
import { success } from '../../http/server/response.ts'
import { type HttpRequest, route } from '../../http/server/route.ts'
import {
  countField,
  enumField,
  isoTimeField,
  nullable,
  successSchema,
  timeField,
} from '../../http/server/schemas.ts'
import { authenticatedKey, callerOf } from '../../keys/api/quota-headers.ts'
import { authenticateActiveKey, authenticateKey, identifyKey } from '../../keys/authenticate-key.ts'
import { addressField, messageIdField, senderFilterFields } from '../../mail/api/schemas.ts'
import { type AttemptOutcome, statusForHolder, type Webhook } from '../rules.ts'
import type { WebhookRouteDeps } from '../webhooks.ts'
import {
  createWebhook,
  findWebhook,
  type WebhookCaller,
  webhookBacklog,
  webhookDeliveries,
} from '../webhooks.ts'

const webhookFields = {
  id: Type.String({ examples: ['wh_4bNqC2tZ8yR6uVe0LgYx5f'] }),
  url: Type.String({ examples: ['https://receiver.example/mail'] }),
  state: enumField(['active', 'failing', 'paused', 'disabled']),
  reason: nullable(
    Type.String({ examples: ['daily_limit'] }),
    'failing: the last error or status; paused: daily_limit, quota_exhausted or plan_expired; disabled: gone (the receiver answered 410) or failing (for five days).',
  ),
  to: nullable(addressField, 'Null: all mail visible to the key.'),
  from: nullable(Type.String({ examples: ['shop.example'] })),
  subject: nullable(Type.String({ examples: ['code'] })),
  created_at: timeField,
  created_at_iso: isoTimeField,
  last_delivery_at: nullable(timeField),
  last_delivery_at_iso: nullable(isoTimeField),
  last_message_id: nullable(messageIdField, 'Of the last delivery.'),
  next_attempt_at: nullable(
    timeField,
    'For a failing or paused webhook; null if it depends on a renewal.',
  ),
  next_attempt_at_iso: nullable(isoTimeField),
  backlog: nullable(
    Type.Integer({ examples: [0] }),
    'How many of the next 100 messages are still to be delivered; null with from or subject, or if the webhook sees mail of the pool.',
  ),
  gap_since: nullable(
    timeField,
    'Since then, mail may have expired before it was delivered. Cleared by a replay.',
  ),
  gap_since_iso: nullable(isoTimeField),
  old_secret_until: nullable(timeField, 'Until then, deliveries carry two signatures.'),
  old_secret_until_iso: nullable(isoTimeField),
}
export const webhookSchema = Type.Object(webhookFields)

export const secretField = Type.String({
  description: 'Verifies the signatures. Shown only here.',
  examples: ['whsec_ and 44 characters, to be kept secret'],
})

export const outcomeFields = {
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

export const sinceField = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description:
    'Deliver messages newer than this id. By default, a new webhook delivers only mail that arrives from now on.',
})
export const idField = Type.String({ description: 'A webhook id.' })

export async function webhookJson(
  deps: WebhookRouteDeps,
  request: HttpRequest,
  webhook: Webhook,
): Promise<Static<typeof webhookSchema>> {
  const key = authenticatedKey(request)
  const { state, reason, nextAttemptAt } = statusForHolder(webhook, key, deps.now())
  const { lastDelivery } = webhook
  return {
    id: webhook.id,
    url: webhook.url,
    state,
    reason: reason ?? null,
    to: webhook.to ?? null,
    from: webhook.from ?? null,
    subject: webhook.subject ?? null,
    created_at: utcTimestamp(webhook.createdAt),
    created_at_iso: isoTimestamp(webhook.createdAt),
    ...timestampFields('last_delivery_at', lastDelivery?.at),
    last_message_id: lastDelivery?.messageId ?? null,
    ...timestampFields('next_attempt_at', nextAttemptAt),
    backlog: (await webhookBacklog(deps, webhook)) ?? null,
    ...timestampFields('gap_since', webhook.gapSince),
    ...timestampFields('old_secret_until', unlessOver(webhook.oldSecretUntil, deps.now())),
  }
}

function unlessOver(time: Date | undefined, now: Date): Date | undefined {
  return time && time.getTime() > now.getTime() ? time : undefined
}

export function outcomeJson({ status, error, ms }: AttemptOutcome) {
  return { status: status ?? null, error: error ?? null, ms }
}

/** Free, whatever is left of the quota. */
export const keyed = {
  requestHeaders: [KEY_HEADER],
  api: 'keyed',
  async authenticate(deps: WebhookRouteDeps, request: HttpRequest) {
    requireWebhooks(deps)
    return await identifyKey(deps, callerOf(deps, request))
  },
} as const

/** Likewise, but not for a stopped key: these cause requests to the receiver, or make them possible. */
export const activeKeyed = {
  ...keyed,
  async authenticate(deps: WebhookRouteDeps, request: HttpRequest) {
    requireWebhooks(deps)
    return await authenticateActiveKey(deps, callerOf(deps, request))
  },
} as const

export function requireWebhooks({ webhooks }: Pick<WebhookRouteDeps, 'webhooks'>): void {
  if (!webhooks) throw new Problem('not_allowed', 'Webhooks are disabled on this server.')
}

export function webhookCaller(request: HttpRequest): WebhookCaller {
  return { keyId: authenticatedKey(request).id, client: request.client }
}

const createWebhookRoute = route({
  ...keyed,
  // Without any quota, a webhook could still tell by its state whether a message is selected.
  async authenticate(deps: WebhookRouteDeps, request) {
    requireWebhooks(deps)
    return await authenticateKey(deps, callerOf(deps, request))
  },
  method: 'POST',
  path: '/webhooks',
  name: 'create-webhook',
  title: 'Create a webhook',
  description: [
    'Mail visible to the key is posted to the URL as it arrives, at least once and in order. Each message counts as one request, however many attempts it takes, also if it expires before it is delivered.',
    'Deliveries are signed according to Standard Webhooks, with the secret in the response. A 2xx response within 15 seconds is a success. Anything else is retried after 5 s, 30 s, 2 m, 10 m, 30 m and then hourly, until the mail expires; 410 disables the webhook, and so do five days of failures.',
    'The URL must use https on port 443 or 8443 of a public address. A key can have at most ten webhooks. Free, but the key must have requests left.',
  ].join('\n\n'),
  input: Type.Object({
    url: Type.String({ description: 'The https URL to deliver to.' }),
    to: Type.Optional(Type.String({ description: 'Only mail to this address.' })),
    ...senderFilterFields,
    since_id: Type.Optional(sinceField),
  }),
  output: successSchema({ webhook: Type.Object({ ...webhookFields, secret: secretField }) }),
  problems: [
    'invalid_key',
    'plan_expired',
    'quota_exhausted',
    'daily_limit',
    'invalid_url',
    'not_allowed',
    'webhook_limit',
  ],
  async handle({ since_id: sinceId, ...options }, deps: WebhookRouteDeps, request) {
    const key = authenticatedKey(request)
    const given = { ...options, sinceId }
    const { webhook, secret } = await createWebhook(deps, key, given, request.client)
    return success({ webhook: { ...(await webhookJson(deps, request, webhook)), secret } })
  },
})

const listWebhooksRoute = route({
  ...keyed,
  method: 'GET',
  path: '/webhooks',
  name: 'list-webhooks',
  title: 'List webhooks',
  description: 'The webhooks of the key, oldest first. Free.',
  output: successSchema({ webhooks: Type.Array(webhookSchema) }),
  problems: ['invalid_key', 'not_allowed'],
  async handle(_input, deps: WebhookRouteDeps, request) {
    const all = await deps.shop.listWebhooks(authenticatedKey(request).id)
    const webhooks: Static<typeof webhookSchema>[] = []
    for (const webhook of all) {
      webhooks.push(await webhookJson(deps, request, webhook))
      // On SQLite the reads do not yield to other requests by themselves.
      await nextTurn()
    }
    return success({ webhooks })
  },
})

const readWebhookRoute = route({
  ...keyed,
  method: 'GET',
  path: '/webhooks/{id}',
  name: 'read-webhook',
  title: 'Read a webhook',
  description: 'The state, last delivery, next attempt and backlog of one webhook. Free.',
  input: Type.Object({ id: idField }),
  output: successSchema({ webhook: webhookSchema }),
  problems: ['invalid_key', 'not_allowed', 'webhook_not_found'],
  async handle({ id }, deps: WebhookRouteDeps, request) {
    const webhook = await findWebhook(deps, id, webhookCaller(request))
    return success({ webhook: await webhookJson(deps, request, webhook) })
  },
})

const deliveriesRoute = route({
  ...keyed,
  method: 'GET',
  path: '/webhooks/{id}/deliveries',
  title: 'List deliveries',
  description: 'The last 100 delivery attempts of a webhook, newest first. Free.',
  input: Type.Object({ id: idField }),
  output: successSchema({
    deliveries: Type.Array(
      Type.Object({
        message_id: messageIdField,
        attempt: Type.Integer({ description: 'From 1, per message.', examples: [1] }),
        ...outcomeFields,
        attempted_at: timeField,
        attempted_at_iso: isoTimeField,
      }),
    ),
  }),
  problems: ['invalid_key', 'not_allowed', 'webhook_not_found'],
  async handle({ id }, deps: WebhookRouteDeps, request) {
    const deliveries = await webhookDeliveries(deps, id, webhookCaller(request))
    return success({
      deliveries: deliveries.map(({ messageId, attempt, at, ...outcome }) => ({
        message_id: messageId,
        attempt,
        ...outcomeJson(outcome),
        attempted_at: utcTimestamp(at),
        attempted_at_iso: isoTimestamp(at),
      })),
    })
  },
})

export const webhookRoutes = [
  createWebhookRoute,
  listWebhooksRoute,
  readWebhookRoute,
  deliveriesRoute,
]
