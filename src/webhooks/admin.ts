import { Type } from 'typebox'
import type { CreatedPage } from '../base/operation.ts'
import { nextField, pageFields, readCreatedPage } from '../http/server/admin-list.ts'
import { adminRoute } from '../http/server/admin-route.ts'
import { success } from '../http/server/response.ts'
import { messageSchema, named, shareSchema, successSchema } from '../http/server/schemas.ts'
import { requireWebhooks } from './api.ts'
import { deliverySchema, idInput, outcomeSchema, webhookFields } from './schemas.ts'
import type { WebhookStore } from './store.ts'
import {
  adminWebhookJson,
  deleteWebhook,
  deliveryJson,
  findWebhook,
  OPERATOR,
  retryWebhook,
  testWebhook,
  type WebhookRouteDeps,
} from './webhooks.ts'

const webhookSchema = named('AdminWebhook', {
  key_id: Type.String({ examples: ['key_…'] }),
  ...webhookFields,
})
const OF_ONE = { input: idInput, problems: ['webhook_not_found'] } as const

export const webhookAdminRoutes = [
  adminRoute({
    method: 'GET',
    path: '/webhooks',
    title: 'Webhooks',
    description: 'Webhooks of all keys, newest first, without their secrets.',
    input: Type.Object(pageFields),
    output: successSchema({ webhooks: Type.Array(webhookSchema), next: nextField }),
    async handle(page, { shop, now }: WebhookRouteDeps) {
      const time = now()
      const list = (one: CreatedPage) => shop.listAllWebhooks({ ...one, now: time })
      const { entries, next } = await readCreatedPage(page, list)
      return success({ webhooks: entries.map((one) => adminWebhookJson(one, time)), next })
    },
  }),
  adminRoute({
    ...OF_ONE,
    method: 'GET',
    path: '/webhooks/{id}',
    title: 'A webhook',
    description: 'A webhook and its last deliveries.',
    output: successSchema({
      webhook: webhookSchema,
      deliveries: Type.Array(deliverySchema),
    }),
    async handle({ id }, deps: WebhookRouteDeps) {
      const webhook = adminWebhookJson(await findWebhook(deps, id, OPERATOR), deps.now())
      const deliveries = await deps.shop.listDeliveries(id)
      return success({ webhook, deliveries: deliveries.map(deliveryJson) })
    },
  }),
  adminRoute({
    ...OF_ONE,
    method: 'POST',
    path: '/webhooks/{id}/test',
    title: 'Test a webhook',
    description: 'Posts a signed test event now, once, and returns the result.',
    output: successSchema({ delivery: outcomeSchema }),
    async handle({ id }, deps: WebhookRouteDeps) {
      requireWebhooks(deps)
      return success({ delivery: await testWebhook(deps, id, OPERATOR) })
    },
  }),
  adminRoute({
    ...OF_ONE,
    method: 'POST',
    path: '/webhooks/{id}/enable',
    title: 'Enable a webhook',
    description: 'Enables a disabled webhook; of a failing one, makes the next attempt now.',
    output: successSchema({ webhook: webhookSchema }),
    async handle({ id }, deps: WebhookRouteDeps) {
      const enabled = await retryWebhook(deps, id, OPERATOR)
      return success({ webhook: adminWebhookJson(enabled, deps.now()) })
    },
  }),
  adminRoute({
    ...OF_ONE,
    method: 'POST',
    path: '/webhooks/{id}/delete',
    title: 'Delete a webhook',
    description: 'Deletes the webhook and its list of deliveries.',
    output: messageSchema,
    async handle({ id }, deps: WebhookRouteDeps) {
      await deleteWebhook(deps, id, OPERATOR)
      return success({ message: 'Webhook deleted.' })
    },
  }),
]

export const webhookFigures = { webhooks: shareSchema }

export interface WebhookFigureDeps {
  shop: Pick<WebhookStore, 'countWebhooks'>
}

export async function readWebhookFigures({ shop }: WebhookFigureDeps) {
  return { webhooks: await shop.countWebhooks() }
}
