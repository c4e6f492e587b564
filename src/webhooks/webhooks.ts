import { Problem } from '../base/problem.ts'
import { timestampFields, utcTimestamp } from '../base/time.ts'
import { takeRate } from '../http/server/rates.ts'
import type { KeyRouteDeps } from '../keys/deps.ts'
import { type EmailsDeps, keyScope, newestEmailId, parseTo } from '../keys/emails/emails.ts'
import type { InstallationStore } from '../keys/installation-store.ts'
import { OLD_SECRET_MS } from '../keys/keys.ts'
import { KEY_RANDOM_BYTES, makeId } from '../keys/rules.ts'
import type { KeyStore } from '../keys/store.ts'
import type { MailDeps } from '../mail/deps.ts'
import { parseFilter } from '../mail/rules/filter.ts'
import { webhookTopic } from '../mail/rules/session.ts'
import type { MailStore } from '../mail/store.ts'
import type { WebhookClient } from './client.ts'
import { eventBody } from './event.ts'
import {
  type AttemptOutcome,
  MAX_WEBHOOKS_PER_KEY,
  signedHeaders,
  validSecrets,
  WEBHOOK_CONDITIONS,
  type Webhook,
  type WebhookCondition,
  type WebhookDelivery,
  webhookSecret,
  webhookStatus,
} from './rules.ts'
import type { WebhookStore } from './store.ts'

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
  config: { webhooks: { on: boolean } }
}

/** Whose webhooks a request may see: those of its key, or all, for the operator. */
interface WebhookCaller {
  keyId: string | undefined
  /** Rate-limit key of the client; undefined if rate limits do not apply. */
  client: string | undefined
}

export const OPERATOR: WebhookCaller = { keyId: undefined, client: undefined }

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
  { url: given, to: toText, from, subject, sinceId }: WebhookOptions,
  { keyId, client }: { keyId: string; client: string | undefined },
): Promise<{ webhook: Webhook; secret: string }> {
  const { shop, now, randomBytes, webhookClient } = deps
  const to = toText === undefined ? undefined : parseTo(toText)
  // Throws if they are invalid.
  parseFilter({ from, subject })
  if (client !== undefined) await takeRate(deps, 'createWebhook', keyId)
  const url = await webhookClient.check(given, keyId)
  const id = makeId('wh', randomBytes(KEY_RANDOM_BYTES))
  const lastId = sinceId ?? (await newestEmailId(deps, { keyId, to }))
  const webhook = { id, keyId, url, to, from, subject, createdAt: now(), lastId }
  if (!(await shop.addWebhook(webhook))) {
    throw new Problem('webhook_limit', `A key has at most ${MAX_WEBHOOKS_PER_KEY} webhooks.`)
  }
  const added = await findWebhook(deps, id, OPERATOR)
  const secret = webhookSecret(await installationSecret(deps), id, added.generation)
  return { webhook: added, secret }
}

/** Throws `webhook_not_found`, also for a webhook of another key: knowing the id reveals nothing. */
export async function findWebhook(
  { shop, now }: Pick<WebhookDeps, 'shop' | 'now'>,
  id: string,
  { keyId }: WebhookCaller,
): Promise<Webhook> {
  const webhook = await shop.readWebhook(id, now(), keyId)
  if (webhook) return webhook
  throw new Problem('webhook_not_found', 'No such webhook.')
}

const MAX_BACKLOG = 100

/**
 * How many of the next 100 messages are not delivered yet. Unknown for mail of the pool, and with a condition on the content: the
 * number would reveal what nobody was charged for.
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

/** Sends a test event now, once. It is free, and not recorded. */
export async function testWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
): Promise<AttemptOutcome> {
  const webhook = await findWebhook(deps, id, caller)
  const { url, keyId } = webhook
  if (caller.client !== undefined) await takeRate(deps, 'testWebhook', keyId)
  const timestamp = deps.now()
  const body = eventBody('webhook.test', timestamp, { webhookId: id })
  const secrets = validSecrets(await installationSecret(deps), webhook, timestamp)
  const messageId = `msg_test_${Buffer.from(deps.randomBytes(12)).toString('base64url')}`
  const headers = signedHeaders(secrets, { id: messageId, timestamp, body })
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
  const generation = await deps.shop.rollWebhook(id, now, oldUntil)
  if (generation === undefined) {
    const { oldSecretUntil = now } = await findWebhook(deps, id, caller)
    const until = utcTimestamp(oldSecretUntil)
    const text = `This secret was rolled already. The old one is valid until ${until} UTC.`
    throw new Problem('already_rolled', text)
  }
  return { secret: webhookSecret(await installationSecret(deps), id, generation), oldUntil }
}

/**
 * Enables a disabled webhook and makes the next attempt now. With `replaySince` it is not enabled: messages newer than that are
 * delivered again, charged like any other.
 */
export async function retryWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
  replaySince?: number,
): Promise<Webhook> {
  const { keyId } = await findWebhook(deps, id, caller)
  // Each may cause an attempt at once, and the receiver may be anybody's.
  if (caller.client !== undefined) await takeRate(deps, 'retryWebhook', keyId)
  if (replaySince === undefined) await deps.shop.enableWebhook(id)
  else await deps.shop.replayWebhook(id, replaySince)
  deps.bus.wake(webhookTopic(id))
  return await findWebhook(deps, id, caller)
}

export interface WebhookChangeOptions extends Partial<Omit<WebhookOptions, 'sinceId'>> {
  /** active or paused. */
  state?: string | undefined
  clear?: readonly string[] | undefined
}

/** Messages that were examined before are not examined again, except those of the last look. */
export async function changeWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
  { url: given, to: toText, from, subject, state, clear = [] }: WebhookChangeOptions,
): Promise<Webhook> {
  const { keyId } = await findWebhook(deps, id, caller)
  const to = toText === undefined ? undefined : parseTo(toText)
  // Throws if they are invalid.
  parseFilter({ from, subject })
  const newState = state === undefined ? undefined : parseState(state)
  const cleared = clear.map((name) => parseCleared(name, { to, from, subject }))
  if ([given, to, from, subject, state, ...cleared].every((one) => one === undefined)) {
    throw new Problem('missing_parameter', 'Give url, to, from, subject, state or clear.')
  }
  // A new URL is resolved, and may get an attempt at once.
  if (caller.client !== undefined) await takeRate(deps, 'retryWebhook', keyId)
  const url = given === undefined ? undefined : await deps.webhookClient.check(given, keyId)
  const change = { url, to, from, subject, state: newState, clear: cleared }
  await deps.shop.changeWebhook(id, change, deps.now())
  deps.bus.wake(webhookTopic(id))
  return await findWebhook(deps, id, caller)
}

function parseState(state: string): 'active' | 'paused' {
  if (state === 'active' || state === 'paused') return state
  throw new Problem('invalid_parameter', 'state: must be active or paused.')
}

function parseCleared(
  name: string,
  given: Record<WebhookCondition, string | undefined>,
): WebhookCondition {
  const condition = WEBHOOK_CONDITIONS.find((one) => one === name)
  if (!condition) {
    throw new Problem('invalid_parameter', 'clear: must name to, from or subject.')
  }
  if (given[condition] !== undefined) {
    throw new Problem('invalid_parameter', `clear: ${condition} has a new value as well.`)
  }
  return condition
}

export async function deleteWebhook(
  deps: WebhookDeps,
  id: string,
  caller: WebhookCaller,
): Promise<void> {
  await findWebhook(deps, id, caller)
  await deps.shop.deleteWebhook(id)
  deps.bus.wake(webhookTopic(id))
}

async function installationSecret({
  shop,
  randomBytes,
}: Pick<WebhookDeps, 'shop' | 'randomBytes'>): Promise<Uint8Array> {
  return await shop.installationSecret(randomBytes(32))
}

/** As everybody sees it. */
export function webhookJson(webhook: Webhook, now: Date) {
  const { state, reason, nextAttemptAt } = webhookStatus(webhook, now)
  return {
    id: webhook.id,
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

/** The same for the operator. */
export function adminWebhookJson(webhook: Webhook, now: Date) {
  return { key_id: webhook.keyId, ...webhookJson(webhook, now) }
}

export function deliveryJson({ messageId, attempt, status, error, ms, at }: WebhookDelivery) {
  return {
    message_id: messageId,
    attempt,
    status,
    error,
    ms,
    ...timestampFields('attempted_at', at),
  }
}
