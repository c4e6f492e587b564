import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import { Problem } from '../base/problem.ts'
import { timestampFields } from '../base/time.ts'
import type { HttpRequest } from '../http/server/request.ts'
import { success } from '../http/server/response.ts'
import { route } from '../http/server/route.ts'
import {
  enumField,
  messageSchema,
  named,
  successSchema,
  timeFields,
} from '../http/server/schemas.ts'
import { toField } from '../keys/api/email-json.ts'
import { authenticatedKey, callerOf } from '../keys/api/quota-headers.ts'
import { authenticateActiveKey, authenticateKey, identifyKey } from '../keys/authenticate-key.ts'
import { senderFilterFields } from '../mail/api/schemas.ts'
import { WEBHOOK_CONDITIONS, type Webhook } from './rules.ts'
import {
  deliverySchema,
  holderFields,
  idInput,
  outcomeSchema,
  secretField,
  sinceField,
  urlField,
  webhookSchema,
} from './schemas.ts'
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  deliveryJson,
  findWebhook,
  retryWebhook,
  rollWebhookSecret,
  testWebhook,
  type WebhookRouteDeps,
  webhookBacklog,
  webhookJson,
} from './webhooks.ts'

async function holderJson(
  deps: WebhookRouteDeps,
  webhook: Webhook,
): Promise<Static<typeof webhookSchema>> {
  const { oldSecretUntil: until } = webhook
  const isRolled = until && until.getTime() > deps.now().getTime()
  return {
    ...webhookJson(webhook, deps.now()),
    backlog: (await webhookBacklog(deps, webhook)) ?? null,
    ...timestampFields('old_secret_until', isRolled ? until : undefined),
  }
}

/** All are free. */
const keyed = (authenticate: typeof identifyKey) =>
  ({
    api: 'keyed',
    async authenticate(deps: WebhookRouteDeps, request: HttpRequest) {
      requireWebhooks(deps)
      return await authenticate(deps, callerOf(deps, request))
    },
  }) as const

export function requireWebhooks({ config }: Pick<WebhookRouteDeps, 'config'>): void {
  if (!config.webhooks.on) throw new Problem('not_allowed', 'Webhooks are disabled on this server.')
}

function callerOfWebhook(request: HttpRequest) {
  return { keyId: authenticatedKey(request).id, client: request.client }
}

/** Actions on one webhook, whatever is left of the quota. */
const anyKey = {
  ...keyed(identifyKey),
  input: idInput,
  problems: ['invalid_key', 'not_allowed', 'webhook_not_found'],
} as const

/** Likewise, but not for a stopped key: these cause requests to the receiver, or make them possible. */
const activeKey = {
  ...keyed(authenticateActiveKey),
  input: idInput,
  problems: ['invalid_key', 'plan_expired', 'not_allowed', 'webhook_not_found'],
} as const

const deletion = {
  ...anyKey,
  title: 'Delete a webhook',
  description:
    'Deletes the webhook and its list of deliveries. POST /webhooks/{id}/delete does the same. Free.',
  output: messageSchema,
  async handle({ id }: { id: string }, deps: WebhookRouteDeps, request: HttpRequest) {
    await deleteWebhook(deps, id, callerOfWebhook(request))
    return success({ message: 'Webhook deleted.' })
  },
}

const changeFields = {
  url: Type.Optional(urlField),
  to: toField,
  ...senderFilterFields,
  clear: Type.Optional(
    Type.Array(enumField(WEBHOOK_CONDITIONS), {
      minItems: 1,
      maxItems: WEBHOOK_CONDITIONS.length,
      description:
        'Conditions to remove: to, from or subject, as a JSON array or separated by commas.',
    }),
  ),
  state: Type.Optional(enumField(['active', 'paused'], { description: 'active or paused.' })),
}

export const webhookRoutes = [
  route({
    // Without any quota, a webhook could still tell by its state whether a message is selected.
    ...keyed(authenticateKey),
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
      url: urlField,
      to: toField,
      ...senderFilterFields,
      since_id: Type.Optional(sinceField),
    }),
    output: successSchema({
      webhook: named('NewWebhook', { ...holderFields, secret: secretField }),
    }),
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
      const given = { ...options, sinceId }
      const { webhook, secret } = await createWebhook(deps, given, callerOfWebhook(request))
      return success({ webhook: { ...(await holderJson(deps, webhook)), secret } })
    },
  }),
  route({
    ...keyed(identifyKey),
    method: 'GET',
    path: '/webhooks',
    name: 'list-webhooks',
    title: 'List webhooks',
    description: 'The webhooks of the key, oldest first. Free.',
    output: successSchema({ webhooks: Type.Array(webhookSchema) }),
    problems: ['invalid_key', 'not_allowed'],
    async handle(_input, deps: WebhookRouteDeps, request) {
      const webhooks: Static<typeof webhookSchema>[] = []
      for (const webhook of await deps.shop.listWebhooks(
        authenticatedKey(request).id,
        deps.now(),
      )) {
        webhooks.push(await holderJson(deps, webhook))
        // On SQLite the reads do not yield to other requests by themselves.
        await nextTurn()
      }
      return success({ webhooks })
    },
  }),
  route({
    ...anyKey,
    method: 'GET',
    path: '/webhooks/{id}',
    name: 'get-webhook',
    title: 'Read a webhook',
    description: 'The state, last delivery, next attempt and backlog of one webhook. Free.',
    output: successSchema({ webhook: webhookSchema }),
    async handle({ id }, deps: WebhookRouteDeps, request) {
      const webhook = await findWebhook(deps, id, callerOfWebhook(request))
      return success({ webhook: await holderJson(deps, webhook) })
    },
  }),
  route({
    ...activeKey,
    method: 'POST',
    path: '/webhooks/{id}',
    name: 'update-webhook',
    title: 'Change a webhook',
    description:
      'Changes what is given; the secret and the position stay. A new URL is tried at once, and new conditions apply to messages that were not examined before, and may apply to those examined last. A message that is being delivered is completed first, unless to excludes it: then it is skipped, and gap_since says so. state=paused stops deliveries, and state=active resumes them and enables a disabled webhook. Free; changes, replays and enables together are limited to ten a minute per key.',
    input: Type.Object(
      { ...idInput.properties, ...changeFields },
      { anyOf: Object.keys(changeFields).map((name) => ({ required: [name] })) },
    ),
    output: successSchema({ webhook: webhookSchema }),
    problems: [...activeKey.problems, 'invalid_url'],
    async handle({ id, ...change }, deps: WebhookRouteDeps, request) {
      const webhook = await changeWebhook(deps, id, callerOfWebhook(request), change)
      return success({ webhook: await holderJson(deps, webhook) })
    },
  }),
  route({
    ...deletion,
    method: 'DELETE',
    path: '/webhooks/{id}',
    name: 'delete-webhook',
  }),
  route({
    ...anyKey,
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    name: 'list-deliveries',
    title: 'List deliveries',
    description: 'The last 100 delivery attempts of a webhook, newest first. Free.',
    output: successSchema({ deliveries: Type.Array(deliverySchema) }),
    async handle({ id }, deps: WebhookRouteDeps, request) {
      await findWebhook(deps, id, callerOfWebhook(request))
      const deliveries = await deps.shop.listDeliveries(id)
      return success({ deliveries: deliveries.map(deliveryJson) })
    },
  }),
  route({
    ...activeKey,
    method: 'POST',
    path: '/webhooks/{id}/test',
    name: 'test-webhook',
    title: 'Test a webhook',
    description:
      'Posts one signed event of type webhook.test now and returns the result. Free; at most ten times a minute per key. It is not listed among the deliveries.',
    output: successSchema({ delivery: outcomeSchema }),
    async handle({ id }, deps: WebhookRouteDeps, request) {
      return success({ delivery: await testWebhook(deps, id, callerOfWebhook(request)) })
    },
  }),
  route({
    ...activeKey,
    method: 'POST',
    path: '/webhooks/{id}/replay',
    name: 'replay-webhook',
    title: 'Replay messages',
    description:
      'Delivers messages newer than since_id again, in order, under new ids. Each is charged like any other message. If a message is being delivered, its delivery is completed first. Replays, enables and changes together are limited to ten a minute per key.',
    input: Type.Object({ ...idInput.properties, since_id: sinceField }),
    output: successSchema({ webhook: webhookSchema }),
    async handle({ id, since_id: sinceId }, deps: WebhookRouteDeps, request) {
      const webhook = await retryWebhook(deps, id, callerOfWebhook(request), sinceId)
      return success({ webhook: await holderJson(deps, webhook) })
    },
  }),
  route({
    ...anyKey,
    method: 'POST',
    path: '/webhooks/{id}/roll-secret',
    name: 'roll-webhook-secret',
    title: 'Roll a webhook secret',
    description:
      'Returns a new secret. For 24 hours, deliveries are signed with both secrets, and the secret cannot be rolled again. Free.',
    output: successSchema({
      secret: secretField,
      ...timeFields('old_secret_until'),
    }),
    problems: [...anyKey.problems, 'already_rolled'],
    async handle({ id }, deps: WebhookRouteDeps, request) {
      const { secret, oldUntil } = await rollWebhookSecret(deps, id, callerOfWebhook(request))
      return success({ secret, ...timestampFields('old_secret_until', oldUntil) })
    },
  }),
  route({
    ...activeKey,
    method: 'POST',
    path: '/webhooks/{id}/enable',
    name: 'enable-webhook',
    title: 'Enable a webhook',
    description:
      'Enables a disabled webhook, resumes a paused one, or retries a failing one now. Free; at most ten times a minute per key, replays and changes included.',
    output: successSchema({ webhook: webhookSchema }),
    async handle({ id }, deps: WebhookRouteDeps, request) {
      const webhook = await retryWebhook(deps, id, callerOfWebhook(request))
      return success({ webhook: await holderJson(deps, webhook) })
    },
  }),
]

/** For clients that cannot send DELETE; described there. */
export const deleteWebhookRoute = route({
  ...deletion,
  method: 'POST',
  path: '/webhooks/{id}/delete',
})
