import { Type } from 'typebox'
import { isoTimestamp, utcTimestamp } from '../../base/time.ts'
import { success } from '../../http/server/response.ts'
import { route } from '../../http/server/route.ts'
import { isoTimeField, messageSchema, successSchema, timeField } from '../../http/server/schemas.ts'
import type { WebhookRouteDeps } from '../webhooks.ts'
import {
  deleteWebhook,
  enableWebhook,
  replayWebhook,
  rollWebhookSecret,
  testWebhook,
} from '../webhooks.ts'
import {
  activeKeyed,
  idField,
  keyed,
  outcomeFields,
  outcomeJson,
  secretField,
  sinceField,
  webhookCaller,
  webhookJson,
  webhookSchema,
} from './webhooks.ts'

const testWebhookRoute = route({
  ...activeKeyed,
  method: 'POST',
  path: '/webhooks/{id}/test',
  name: 'test-webhook',
  title: 'Test a webhook',
  description:
    'Posts one signed event of type webhook.test now and returns the result. Free; at most ten times a minute per key. It is not listed among the deliveries.',
  input: Type.Object({ id: idField }),
  output: successSchema({ delivery: Type.Object(outcomeFields) }),
  problems: ['invalid_key', 'plan_expired', 'not_allowed', 'webhook_not_found'],
  async handle({ id }, deps: WebhookRouteDeps, request) {
    return success({ delivery: outcomeJson(await testWebhook(deps, id, webhookCaller(request))) })
  },
})

const replayWebhookRoute = route({
  ...activeKeyed,
  method: 'POST',
  path: '/webhooks/{id}/replay',
  name: 'replay-webhook',
  title: 'Replay messages',
  description:
    'Delivers messages newer than since_id again, in order, under new ids. Each is charged like any other message. If a message is being delivered, its delivery is completed first. Replays and enables together are limited to ten a minute per key.',
  input: Type.Object({ id: idField, since_id: sinceField }),
  output: successSchema({ webhook: webhookSchema }),
  problems: ['invalid_key', 'plan_expired', 'not_allowed', 'webhook_not_found'],
  async handle({ id, since_id: sinceId }, deps: WebhookRouteDeps, request) {
    const webhook = await replayWebhook(deps, id, { ...webhookCaller(request), sinceId })
    return success({ webhook: await webhookJson(deps, request, webhook) })
  },
})

const rollSecretRoute = route({
  ...keyed,
  method: 'POST',
  path: '/webhooks/{id}/roll-secret',
  title: 'Roll a webhook secret',
  description:
    'Returns a new secret. For 24 hours, deliveries are signed with both secrets, and the secret cannot be rolled again. Free.',
  input: Type.Object({ id: idField }),
  output: successSchema({
    secret: secretField,
    old_secret_until: timeField,
    old_secret_until_iso: isoTimeField,
  }),
  problems: ['invalid_key', 'not_allowed', 'webhook_not_found', 'already_rolled'],
  async handle({ id }, deps: WebhookRouteDeps, request) {
    const { secret, oldUntil } = await rollWebhookSecret(deps, id, webhookCaller(request))
    return success({
      secret,
      old_secret_until: utcTimestamp(oldUntil),
      old_secret_until_iso: isoTimestamp(oldUntil),
    })
  },
})

const enableWebhookRoute = route({
  ...activeKeyed,
  method: 'POST',
  path: '/webhooks/{id}/enable',
  name: 'enable-webhook',
  title: 'Enable a webhook',
  description:
    'Enables a disabled webhook, or retries a failing one now. Free; at most ten times a minute per key, replays included.',
  input: Type.Object({ id: idField }),
  output: successSchema({ webhook: webhookSchema }),
  problems: ['invalid_key', 'plan_expired', 'not_allowed', 'webhook_not_found'],
  async handle({ id }, deps: WebhookRouteDeps, request) {
    const webhook = await enableWebhook(deps, id, webhookCaller(request))
    return success({ webhook: await webhookJson(deps, request, webhook) })
  },
})

const deleteWebhookRoute = route({
  ...keyed,
  method: 'POST',
  path: '/webhooks/{id}/delete',
  name: 'delete-webhook',
  title: 'Delete a webhook',
  description: 'Deletes the webhook and its list of deliveries. Free.',
  input: Type.Object({ id: idField }),
  output: messageSchema,
  problems: ['invalid_key', 'not_allowed', 'webhook_not_found'],
  async handle({ id }, deps: WebhookRouteDeps, request) {
    await deleteWebhook(deps, id, webhookCaller(request))
    return success({ message: 'Webhook deleted.' })
  },
})

export const webhookActionRoutes = [
  testWebhookRoute,
  replayWebhookRoute,
  rollSecretRoute,
  enableWebhookRoute,
  deleteWebhookRoute,
]
