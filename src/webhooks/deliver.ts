import { isDeepStrictEqual } from 'node:util'
import { idAt, timeOfId } from '../base/id.ts'
import { type EmailsDeps, keyScope } from '../keys/emails/emails.ts'
import { nextUtcDay, precheckQuota } from '../keys/rules.ts'
import type { KeyStore } from '../keys/store.ts'
import type { MailDeps } from '../mail/deps.ts'
import {
  findIndexSteps,
  type MailFilter,
  matchesFilter,
  parseFilter,
} from '../mail/rules/filter.ts'
import type { Message } from '../mail/rules/message.ts'
import type { WebhookClient } from './client.ts'
import type { ReadEvent } from './event.ts'
import {
  afterFailure,
  deliveryId,
  isDelivered,
  type PendingMessage,
  parseRetryAfter,
  signedHeaders,
  validSecrets,
  type Webhook,
} from './rules.ts'
import type { RecordedAttempt } from './store.ts'
import type { WebhookStore } from './store-writes.ts'

export interface DeliverDeps
  extends Pick<MailDeps, 'store' | 'steps' | 'now'>,
    Pick<EmailsDeps, 'poolAccess'> {
  shop: WebhookStore & KeyStore
  event: ReadEvent
  webhookClient: Pick<WebhookClient, 'send'>
  /** Of this installation: webhook secrets are derived from it. */
  installationSecret: Uint8Array
  /** From 0 to 1. */
  random(): number
  /** Runs an attempt when it is the turn of this key; default: at once. */
  inTurn?<T>(keyId: string, attempt: () => Promise<T>): Promise<T>
}

/** When to look again. */
export interface NextStep {
  /** Undefined: when there is new mail. */
  waitMs: number | undefined
}

/** How far messages were examined that are not selected. Rarely stored: each write would cost more than examining them again. */
export interface Position {
  replays: number
  lastId: number
  /** Since the last time it was stored. */
  passed: number
  /** Everything up to this id was seen, or has been checked. */
  seenId: number
}

const NOW: NextStep = { waitMs: 0 }
const NEW_MAIL: NextStep = { waitMs: undefined }
// A plan may be renewed, or a request of /emails refunded.
const QUOTA_POLL_MS = 60_000
const RACE_MS = 1_000
const SLOW_MS = 100
const EXAMINED_AT_ONCE = 100
const PASSED_AT_MOST = 1_000

/**
 * Delivers the next message of a webhook, if one is due. It is charged when it becomes pending, in one commit; every attempt
 * after that finds it pending, also on another node or after a crash.
 */
export async function deliverNext(
  deps: DeliverDeps,
  webhookId: string,
  { position = newPosition(), signal }: { position?: Position; signal?: AbortSignal } = {},
): Promise<NextStep> {
  const { shop, inTurn = atOnce } = deps
  const webhook = await shop.readWebhook(webhookId)
  if (!webhook || webhook.disabled) return NEW_MAIL
  const now = deps.now()
  const waitMs = (webhook.nextAttemptAt?.getTime() ?? 0) - now.getTime()
  if (waitMs > 0 && !webhook.pending) return { waitMs }

  notePosition(position, webhook)
  const message = await nextMessage(deps, webhook, position, signal)
  if (message && waitMs > 0) return { waitMs }
  // After reading: what expired before that and was not delivered is missed.
  await checkForGap(deps, webhook, position)
  if (!message) {
    if (!webhook.pending) {
      await noteSeen(deps, webhook, position, now)
      return NEW_MAIL
    }
    await shop.skipMessage(webhookId, webhook.pending.id, timeOfId(webhook.pending.id))
    return NOW
  }
  const result = await inTurn(webhook.keyId, () => attempt(deps, webhook, message.id, signal))
  if ('waitMs' in result) return result
  // False if its owner has changed the webhook meanwhile, or another node was faster.
  await shop.recordAttempt(result)
  return NOW
}

export function newPosition(): Position {
  return { replays: -1, lastId: 0, passed: 0, seenId: 0 }
}

function notePosition(position: Position, webhook: Webhook): void {
  const { replays, lastId, checkedId, pending } = webhook
  const passedId = position.replays === replays ? position.lastId : 0
  position.seenId = Math.max(position.seenId, passedId, lastId, checkedId, pending?.id ?? 0)
}

/** Records a gap if mail has expired that this webhook has not seen. */
async function checkForGap(deps: DeliverDeps, webhook: Webhook, position: Position) {
  const { seenId } = position
  const expiredId = await deps.store.lastExpired(keyScope(deps, webhook), seenId)
  if (expiredId <= seenId) return
  await deps.shop.checkWebhook(webhook.id, expiredId, timeOfId(seenId))
  position.seenId = expiredId
}

const CHECKED_EVERY_MS = 3_600_000

/** Nothing is left to deliver that was there at this time. Rarely stored: it only matters after a restart. */
async function noteSeen(deps: DeliverDeps, webhook: Webhook, position: Position, now: Date) {
  position.seenId = Math.max(position.seenId, idAt(now))
  if (now.getTime() - timeOfId(webhook.checkedId).getTime() < CHECKED_EVERY_MS) return
  await deps.shop.checkWebhook(webhook.id, position.seenId)
}

/** After the last look. Without it, what a filter has examined since the last time may be reported as a gap. */
export async function storeSeen(
  { shop }: Pick<DeliverDeps, 'shop'>,
  webhookId: string,
  { seenId, lastId }: Position,
): Promise<void> {
  await shop.checkWebhook(webhookId, Math.max(seenId, lastId))
}

/** The pending message, or the oldest one after the cursor that is selected, if the key may still see it. */
async function nextMessage(
  deps: DeliverDeps,
  webhook: Webhook,
  position: Position,
  signal: AbortSignal | undefined,
): Promise<Message | undefined> {
  const scope = keyScope(deps, webhook)
  const { pending, lastId, replays, from, subject } = webhook
  if (pending) {
    const [message] = await deps.store.readKeyMail(scope, [pending.id])
    return message
  }
  const filter = parseFilter({ from, subject })
  if (position.replays !== replays || position.lastId < lastId) {
    Object.assign(position, { replays, lastId, passed: 0 })
  }
  let storedId = lastId
  for (;;) {
    const limit = filter ? EXAMINED_AT_ONCE : 1
    const page = { sinceId: position.lastId, beforeId: undefined, limit, oldestFirst: true }
    const some = await deps.store.listKeyMail(scope, page)
    const at = await findSelected(deps, webhook, { filter, messages: some, signal })
    const passed = at < 0 ? some : some.slice(0, at)
    position.lastId = passed.at(-1)?.id ?? position.lastId
    position.passed += passed.length
    if (at >= 0) return some[at]
    if (position.passed >= PASSED_AT_MOST) {
      const { lastId: messageId } = position
      await deps.shop.passMessages({ webhook: { ...webhook, lastId: storedId }, messageId })
      storedId = messageId
      position.passed = 0
    }
    if (some.length < limit) return undefined
  }
}

interface Examined {
  filter: MailFilter | undefined
  messages: readonly Message[]
  signal: AbortSignal | undefined
}

/** Position of the first message that is selected; -1 if none is. */
async function findSelected(
  { steps }: Pick<DeliverDeps, 'steps'>,
  { keyId }: Webhook,
  { filter, messages, signal }: Examined,
): Promise<number> {
  if (!filter) return messages.length > 0 ? 0 : -1
  const request = { client: undefined, mailbox: `key ${keyId}`, signal }
  const test = (message: Message) => matchesFilter(filter, message)
  return await steps.run(request, findIndexSteps(messages, test))
}

/** Charges the message, unless it is. Returns when to look again if it cannot be charged, or its key was stopped. */
async function charge(
  { shop, now }: DeliverDeps,
  webhook: Webhook,
  messageId: number,
): Promise<NextStep | undefined> {
  const next = { webhook, messageId, now: now() }
  if (webhook.pending?.charged) {
    const { state } = (await shop.readKey(webhook.keyId, next.now)) ?? {}
    if (state === 'active') return undefined
    if (webhook.paused === undefined) await shop.pauseWebhook(next, 'plan_expired')
    return { waitMs: QUOTA_POLL_MS }
  }
  const taken = await shop.takeMessage(next)
  if (taken === 'taken') return undefined
  if (taken === 'changed') return NOW
  const key = await shop.readKey(webhook.keyId, next.now)
  const reason = key && precheckQuota(key, next.now)
  // A request of /emails was refunded, or a day has begun.
  if (!reason) return { waitMs: RACE_MS }
  if (webhook.paused !== reason || webhook.pending?.id !== messageId) {
    await shop.pauseWebhook(next, reason)
  }
  const untilMidnight = nextUtcDay(next.now).getTime() - next.now.getTime()
  const isDaily = reason === 'daily_limit'
  return { waitMs: isDaily ? Math.min(untilMidnight, QUOTA_POLL_MS) : QUOTA_POLL_MS }
}

/** Its turn may come late. So everything is read now, and what was deleted meanwhile is not sent. */
async function attempt(
  deps: DeliverDeps,
  seen: Webhook,
  messageId: number,
  signal: AbortSignal | undefined,
): Promise<RecordedAttempt | NextStep> {
  signal?.throwIfAborted()
  const webhook = await deps.shop.readWebhook(seen.id)
  if (!webhook || !isDeepStrictEqual(webhook, seen)) return NOW
  const [message] = await deps.store.readKeyMail(keyScope(deps, webhook), [messageId])
  if (!message) return NOW
  // Before it is parsed, so that webhooks that are woken together are charged in one commit.
  const wait = await charge(deps, webhook, messageId)
  if (wait) return wait
  const startedAt = deps.now()
  const body = await deps.event(message, webhook.keyId)
  // Deleted meanwhile, or moved to another partition.
  if (body === undefined) return { waitMs: RACE_MS }
  // It has waited for the parser: everything is read again, and the body is at hand then.
  if (deps.now().getTime() - startedAt.getTime() > SLOW_MS) return NOW
  signal?.throwIfAborted()
  const { replay } = webhook.pending?.charged ? webhook.pending : { replay: webhook.replays }
  const pending = { id: messageId, replay, charged: true }
  return await post(deps, webhook, { pending, body, signal })
}

interface Post {
  pending: PendingMessage
  body: string
  signal: AbortSignal | undefined
}

async function post(
  { webhookClient, installationSecret, now, random }: DeliverDeps,
  webhook: Webhook,
  { pending, body, signal }: Post,
): Promise<RecordedAttempt> {
  const timestamp = now()
  const id = deliveryId(webhook.id, pending)
  const secrets = validSecrets(installationSecret, webhook, timestamp)
  const headers = signedHeaders(secrets, { id, timestamp, body })
  const { url, keyId } = webhook
  const request = { url, keyId, headers, body, ...(signal && { signal }) }
  const { status, error, ms, retryAfter } = await webhookClient.send(request)
  const at = now()
  const retryAfterMs = parseRetryAfter(retryAfter, at)
  return {
    webhookId: webhook.id,
    messageId: pending.id,
    replay: pending.replay,
    attempt: (webhook.pending?.charged ? webhook.attempts : 0) + 1,
    status,
    error,
    ms,
    at,
    dueAt: webhook.nextAttemptAt,
    result: isDelivered({ status })
      ? 'delivered'
      : afterFailure(webhook, { status }, { now: at, random: random(), retryAfterMs }),
  }
}

const atOnce: NonNullable<DeliverDeps['inTurn']> = (_key, attempt) => attempt()
