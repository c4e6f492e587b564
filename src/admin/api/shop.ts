import { Type } from 'typebox'
import { Problem } from '../../base/problem.ts'
import { success } from '../../http/server/response.ts'
import type { Route } from '../../http/server/route.ts'
import {
  countField,
  enumField,
  messageSchema,
  nullable,
  successSchema,
} from '../../mail/api/schemas.ts'
import { outcomeFields, outcomeJson, requireWebhooks } from '../../webhooks/api/webhooks.ts'
import {
  deleteWebhook,
  enableWebhook,
  findWebhook,
  testWebhook,
  webhookDeliveries,
} from '../../webhooks/webhooks.ts'
import { deliveryJson, keyJson, orderJson, webhookJson } from '../json.ts'
import { adminRoute, nextField, pageFields, readCreatedPage, timesOf } from './route.ts'

const text = (example: string) => Type.String({ examples: [example] })

const keySchema = Type.Object({
  id: text('key_…'),
  prefix: text('mf_live_abcd'),
  plan: text('starter'),
  label: Type.String(),
  state: enumField(['active', 'stopped', 'revoked']),
  requests: countField(1_000),
  used: countField(12),
  remaining: countField(988),
  per_day: nullable(countField(100)),
  used_today: countField(2),
  remaining_today: nullable(countField(98)),
  ...timesOf('created_at'),
  ...timesOf('expires_at'),
})

/** Anywhere in the text, also one with a typo. */
const WHOLE_KEY = /mf_(?:live|test)_\w{20}/

const keyRoutes: readonly Route[] = [
  adminRoute({
    method: 'GET',
    path: '/keys',
    title: 'Keys',
    description: 'All keys, newest first, without their secrets.',
    input: Type.Object({
      find: Type.Optional(
        Type.String({
          description:
            'Only keys with this id, prefix or text in their label. Never a whole key: addresses end up in logs.',
        }),
      ),
      ...pageFields,
    }),
    output: successSchema({ keys: Type.Array(keySchema), next: nextField }),
    async handle({ find: text, ...page }, { shop, now }) {
      if (text !== undefined && WHOLE_KEY.test(text)) {
        throw new Problem('invalid_parameter', 'find: send the prefix of a key, not the whole key.')
      }
      const one = text === undefined ? undefined : await shop.readKey(text, now())
      if (one) return success({ keys: [keyJson(one)], next: null })
      const { entries, next } = await readCreatedPage(page, (part) =>
        shop.listKeys({ ...part, now: now(), text }),
      )
      return success({ keys: entries.map(keyJson), next })
    },
  }),
  adminRoute({
    method: 'POST',
    path: '/keys/revoke',
    title: 'Revoke a key',
    description: 'Revokes a key permanently.',
    input: Type.Object({ id: Type.String({ description: 'The id of the key.' }) }),
    output: messageSchema,
    problems: ['not_found'],
    async handle({ id }, { shop }) {
      if (!(await shop.revokeKey(id))) throw new Problem('not_found', 'No such key.')
      return success({ message: 'Key revoked.' })
    },
  }),
]

const orderSchema = Type.Object({
  id: text('ord_…'),
  provider: text('stripe'),
  mode: text('live'),
  plan: text('starter'),
  price_cents: countField(500),
  currency: text('usd'),
  state: text('paid'),
  email: nullable(text('a…@buyer.example')),
  payments: countField(1),
  partly_returned: Type.Boolean(),
  key_id: nullable(text('key_…')),
  key_prefix: nullable(text('mf_live_abcd')),
  checkout: nullable(Type.String()),
  subscription: nullable(Type.String()),
  ...timesOf('created_at'),
  ...timesOf('paid_until'),
  ...timesOf('claimed_at'),
})

const orderRoutes: readonly Route[] = [
  adminRoute({
    method: 'GET',
    path: '/orders',
    title: 'Orders',
    description:
      'Orders, newest first, with masked e-mail addresses; of one order, the whole address.',
    input: Type.Object({
      id: Type.Optional(Type.String({ description: 'Only this order.' })),
      ...pageFields,
    }),
    output: successSchema({ orders: Type.Array(orderSchema), next: nextField }),
    async handle({ id, ...page }, { shop }) {
      if (id !== undefined) {
        const order = await shop.readPurchase(id)
        const orders = order ? [{ ...orderJson(order), email: order.email ?? null }] : []
        return success({ orders, next: null })
      }
      const { entries, next } = await readCreatedPage(page, shop.listPurchases)
      return success({ orders: entries.map(orderJson), next })
    },
  }),
]

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

const webhookRoutes: readonly Route[] = [
  adminRoute({
    method: 'GET',
    path: '/webhooks',
    title: 'Webhooks',
    description: 'Webhooks of all keys, newest first, without their secrets.',
    input: Type.Object(pageFields),
    output: successSchema({ webhooks: Type.Array(webhookSchema), next: nextField }),
    async handle(page, { shop, now }) {
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
    async handle({ id }, deps) {
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
    async handle({ id }, deps) {
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
    async handle({ id }, deps) {
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
    async handle({ id }, deps) {
      await deleteWebhook(deps, id, OPERATOR)
      return success({ message: 'Webhook deleted.' })
    },
  }),
]

export const shopAdminRoutes: readonly Route[] = [...keyRoutes, ...orderRoutes, ...webhookRoutes]
