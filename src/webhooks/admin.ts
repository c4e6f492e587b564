import { Type } from 'typebox'
import { nextField, pageFields, readCreatedPage, timesOf } from '../http/server/admin-list.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import { success } from '../http/server/response.ts'
import {
  countField,
  enumField,
  messageSchema,
  nullable,
  successSchema,
} from '../http/server/schemas.ts'
import { outcomeFields, outcomeJson, requireWebhooks } from './api/webhooks.ts'
import {
  deleteWebhook,
  deliveryJson,
  enableWebhook,
  findWebhook,
  testWebhook,
  type WebhookRouteDeps,
  webhookDeliveries,
  webhookJson,
} from './webhooks.ts'

const text = (example: string) => Type.String({ examples: [example] })

const webhookSchema = Type.Object({
  id: text('wh_…'),
  key_id: text('key_…'),
  url: text('https://receiver.example/mail'),
  state: enumField(['active', 'failing', 'paused', 'disabled']),
  reason: nullable(Type.String()),
  to: nullable(Type.String()),
  from: nullable(Type.String()),
  subject: nullable(Type.String()),
  ...timesOf('created_at'),
  ...timesOf('last_delivery_at'),
  last_message_id: nullable(countField(0)),
  ...timesOf('next_attempt_at'),
  ...timesOf('gap_since'),
})

const webhookId = Type.Object({ id: Type.String({ description: 'The id of the webhook.' }) })
/** The operator may change every webhook. */
const OPERATOR = { keyId: undefined, client: undefined }

export const webhookAdminRoutes = [
  adminRoute({
    method: 'GET',
    path: '/webhooks',
    title: 'Webhooks',
    description: 'Webhooks of all keys, newest first, without their secrets.',
    input: Type.Object(pageFields),
    output: successSchema({ webhooks: Type.Array(webhookSchema), next: nextField }),
    async handle(page, { shop, now }: WebhookRouteDeps) {
      const { entries, next } = await readCreatedPage(page, shop.listAllWebhooks)
      return success({ webhooks: entries.map((one) => webhookJson(one, now())), next })
    },
  }),
  adminRoute({
    method: 'GET',
    path: '/webhooks/{id}',
    title: 'A webhook',
    description: 'A webhook and its last deliveries.',
    input: webhookId,
    output: successSchema({
      webhook: webhookSchema,
      deliveries: Type.Array(
        Type.Object({
          message_id: countField(0),
          attempt: countField(1),
          status: nullable(countField(200)),
          error: nullable(Type.String()),
          ms: countField(80),
          ...timesOf('attempted_at'),
        }),
      ),
    }),
    problems: ['webhook_not_found'],
    async handle({ id }, deps: WebhookRouteDeps) {
      const webhook = webhookJson(await findWebhook(deps, id, OPERATOR), deps.now())
      const deliveries = await webhookDeliveries(deps, id, OPERATOR)
      return success({ webhook, deliveries: deliveries.map(deliveryJson) })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/webhooks/{id}/test',
    title: 'Test a webhook',
    description: 'Posts a signed test event now, once, and returns the result.',
    input: webhookId,
    output: successSchema({ delivery: Type.Object(outcomeFields) }),
    problems: ['webhook_not_found'],
    async handle({ id }, deps: WebhookRouteDeps) {
      requireWebhooks(deps)
      return success({ delivery: outcomeJson(await testWebhook(deps, id, OPERATOR)) })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/webhooks/{id}/enable',
    title: 'Enable a webhook',
    description: 'Enables a disabled webhook; of a failing one, makes the next attempt now.',
    input: webhookId,
    output: successSchema({ webhook: webhookSchema }),
    problems: ['webhook_not_found'],
    async handle({ id }, deps: WebhookRouteDeps) {
      const enabled = await enableWebhook(deps, id, OPERATOR)
      return success({ webhook: webhookJson(enabled, deps.now()) })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/webhooks/{id}/delete',
    title: 'Delete a webhook',
    description: 'Deletes the webhook and its list of deliveries.',
    input: webhookId,
    output: messageSchema,
    problems: ['webhook_not_found'],
    async handle({ id }, deps: WebhookRouteDeps) {
      await deleteWebhook(deps, id, OPERATOR)
      return success({ message: 'Webhook deleted.' })
    },
  }),
]
