import { Problem } from '../base/problem.ts'
import { timestampFields, utcTimestamp } from '../base/time.ts'
import { takeRate } from '../http/server/rates.ts'
import type { KeyRouteDeps } from '../keys/deps.ts'
import { type EmailsDeps, keyScope, newestEmailId, parseTo } from '../keys/emails/emails.ts'
import type { InstallationStore } from '../keys/installation-store.ts'
import { OLD_SECRET_MS } from '../keys/keys.ts'
import { type ApiKey, KEY_RANDOM_BYTES, makeWebhookId } from '../keys/rules.ts'
import type { KeyStore } from '../keys/store.ts'
import type { MailDeps } from '../mail/deps.ts'
import { parseFilter } from '../mail/rules/filter.ts'
import { webhookTopic } from '../mail/rules/session.ts'
import type { MailStore } from '../mail/store.ts'
import type { WebhookClient } from './client.ts'
import { testEvent } from './event.ts'
import {
  type AttemptOutcome,
  MAX_WEBHOOKS_PER_KEY,
  signedHeaders,
  validSecrets,
  type Webhook,
  type WebhookDelivery,
  webhookSecret,
  webhookStatus,
} from './rules.ts'
import type { WebhookStore } from './store-writes.ts'

export interface WebhookDeps
  extends Pick<MailDeps, 'bus' | 'limit' | 'now' | 'randomBytes'>,
    Pick<EmailsDeps, 'poolAccess'> {
  shop: WebhookStore & KeyStore & InstallationStore
  store: Pick<MailStore, 'listKeyMail' | 'listKeyMailHeads'>
  webhookClient: WebhookClient
}

/** What the endpoints work with. */
export interface WebhookRouteDeps extends KeyRouteDeps, Omit<WebhookDeps, keyof KeyRouteDeps> {
  shop: WebhookDeps['shop']
  /** Whether key holders may use webhooks. */
  webhooks: boolean
}

/** Whose webhooks a request may see: those of its key, or all, for the operator. */
export interface WebhookCaller {
  keyId: string | undefined
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
}

export interface WebhookOptions {
  url: string
  to?: string | undefined
  from?: string | undefined
  subject?: string | undefined
  /** Default: only mail from now on. */
  sinceId?: number | undefined
}

export async function createWebhook(
  deps: WebhookDeps,
  { id: keyId }: Pick<ApiKey, 'id'>,
  { url: given, to: toText, from, subject, sinceId }: WebhookOptions,
  client: string | undefined,
): Promise<{ webhook: Webhook; secret: string }> {
  const { shop, now, randomBytes, webhookClient } = deps
  const to = toText === undefined ? undefined : parseTo(toText)
  // Throws if they are invalid.
  parseFilter({ from, subject })
  if (client !== undefined) await takeRate(deps, 'createWebhook', keyId)
  const url = await webhookClient.check(given, keyId)
  const id = makeWebhookId(randomBytes(KEY_RANDOM_BYTES))
  const lastId = sinceId ?? (await newestEmailId(deps, { keyId, to }))
  const isAdded = await shop.addWebhook(
    { id, keyId, url, to, from, subject, createdAt: now(), lastId },
    MAX_WEBHOOKS_PER_KEY,
  )
  if (!isAdded) {
    throw new Problem('webhook_limit', `A key has at most ${MAX_WEBHOOKS_PER_KEY} webhooks.`)
  }
  const webhook = await readWebhook(deps, id)
  return { webhook, secret: webhookSecret(await installationSecret(deps), id, webhook.generation) }
}

/** Throws `webhook_not_found`, also for a webhook of another key: its id tells nothing. */
export async function findWebhook(
  deps: Pick<WebhookDeps, 'shop'>,
  id: string,
  { keyId }: Pick<WebhookCaller, 'keyId'>,
): Promise<Webhook> {
  const webhook = await readWebhook(deps, id)
  if (keyId !== undefined && webhook.keyId !== keyId) throw notFound()
  return webhook
}

async function readWebhook({ shop }: Pick<WebhookDeps, 'shop'>, id: string): Promise<Webhook> {
  const webhook = await shop.readWebhook(id)
  if (!webhook) throw notFound()
  return webhook
}

function notFound(): Problem {
  return new Problem('webhook_not_found', 'No such webhook.')
}

const MAX_BACKLOG = 100

/**
 * How many of the next 100 messages are not delivered yet. Unknown for mail of the pool, and with a condition on the content: the
 * number would tell what nobody was charged for.
 */
export async function webhookBacklog(
  deps: Pick<WebhookDeps, 'store' | 'poolAccess' | 'now'>,
  webhook: Webhook,
): Promise<number | undefined> {
  const { lastId: sinceId, from, subject } = webhook
  const scope = keyScope(deps, webhook)
  if (scope.pool || from !== undefined || subject !== undefined) return undefined
  const page = { sinceId, beforeId: undefined, limit: MAX_BACKLOG, oldestFirst: true }
  return (await deps.store.listKeyMail(scope, page)).length
}

/** Newest first. */
export async function webhookDeliveries(
  deps: Pick<WebhookDeps, 'shop'>,
  id: string,
  caller: Pick<WebhookCaller, 'keyId'>,
): Promise<WebhookDelivery[]> {
  await findWebhook(deps, id, caller)
  return await deps.shop.listDeliveries(id)
}

/** Sends a test event now, once. It is free, and not recorded. */
export async function testWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
): Promise<AttemptOutcome> {
  const webhook = await findWebhook(deps, id, caller)
  if (caller.client !== undefined) await takeRate(deps, 'testWebhook', webhook.keyId)
  const timestamp = deps.now()
  const body = testEvent(id, timestamp)
  const secrets = validSecrets(await installationSecret(deps), webhook, timestamp)
  const messageId = `msg_test_${Buffer.from(deps.randomBytes(12)).toString('base64url')}`
  const headers = signedHeaders(secrets, { id: messageId, timestamp, body })
  const { url, keyId } = webhook
  const { status, error, ms } = await deps.webhookClient.send({ url, keyId, headers, body })
  return { status, error, ms }
}

/** A new secret; the old one is valid for another day, and both sign meanwhile. */
export async function rollWebhookSecret(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
): Promise<{ secret: string; oldUntil: Date }> {
  await findWebhook(deps, id, caller)
  const now = deps.now()
  const oldUntil = new Date(now.getTime() + OLD_SECRET_MS)
  const rolled = await deps.shop.rollWebhook(id, now, oldUntil)
  if (!rolled) throw notFound()
  if ('until' in rolled) {
    const until = utcTimestamp(rolled.until)
    const text = `This secret was rolled already. The old one is valid until ${until} UTC.`
    throw new Problem('already_rolled', text)
  }
  const secret = webhookSecret(await installationSecret(deps), id, rolled.generation)
  return { secret, oldUntil }
}

/** Delivers messages newer than `sinceId` again, charged like any other. */
export async function replayWebhook(
  deps: WebhookDeps,
  id: string,
  { sinceId, ...caller }: WebhookCaller & { sinceId: number },
): Promise<Webhook> {
  return await changeWebhook(deps, id, caller, () => deps.shop.replayWebhook(id, sinceId))
}

/** Enables a disabled webhook, and makes the next attempt now. */
export async function enableWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
): Promise<Webhook> {
  return await changeWebhook(deps, id, caller, () => deps.shop.enableWebhook(id))
}

async function changeWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
  change: () => Promise<boolean>,
): Promise<Webhook> {
  const { keyId } = await findWebhook(deps, id, caller)
  // Each may cause an attempt at once, and the receiver may be anybody's.
  if (caller.client !== undefined) await takeRate(deps, 'retryWebhook', keyId)
  if (!(await change())) throw notFound()
  deps.bus.wake(webhookTopic(id))
  return await readWebhook(deps, id)
}

export async function deleteWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
): Promise<void> {
  await findWebhook(deps, id, caller)
  if (!(await deps.shop.deleteWebhook(id))) throw notFound()
  deps.bus.wake(webhookTopic(id))
}

async function installationSecret({
  shop,
  randomBytes,
}: Pick<WebhookDeps, 'shop' | 'randomBytes'>): Promise<Uint8Array> {
  return await shop.installationSecret(randomBytes(32))
}

export function webhookJson(webhook: Webhook, now: Date) {
  const { state, reason, nextAttemptAt } = webhookStatus(webhook, now)
  return {
    id: webhook.id,
    key_id: webhook.keyId,
    url: webhook.url,
    state,
    reason: reason ?? null,
    to: webhook.to ?? null,
    from: webhook.from ?? null,
    subject: webhook.subject ?? null,
    ...timestampFields('created_at', webhook.createdAt),
    ...timestampFields('last_delivery_at', webhook.lastDelivery?.at),
    last_message_id: webhook.lastDelivery?.messageId ?? null,
    ...timestampFields('next_attempt_at', nextAttemptAt),
    ...timestampFields('gap_since', webhook.gapSince),
  }
}

export function deliveryJson({ messageId, attempt, status, error, ms, at }: WebhookDelivery) {
  return {
    message_id: messageId,
    attempt,
    status: status ?? null,
    error: error ?? null,
    ms,
    ...timestampFields('attempted_at', at),
  }
}
