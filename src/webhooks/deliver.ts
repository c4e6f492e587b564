import { idAt, timeOfId } from '../base/id.ts'
import { type EmailsDeps, keyScope } from '../keys/emails/emails.ts'
import { nextUtcDay } from '../keys/rules.ts'
import type { MailDeps } from '../mail/deps.ts'
import { findIndexSteps, matchesFilter, parseFilter } from '../mail/rules/filter.ts'
import type { Message } from '../mail/rules/message.ts'
import type { WebhookClient } from './client.ts'
import type { ReadEvent } from './event.ts'
import {
  afterFailure,
  deliveryId,
  isDelivered,
  parseRetryAfter,
  pauseReason,
  type RecordedAttempt,
  signedHeaders,
  validSecrets,
  type Webhook,
} from './rules.ts'
import type { Position, WebhookStore } from './store.ts'

export interface DeliverDeps
  extends Pick<MailDeps, 'store' | 'steps' | 'now'>,
    Pick<EmailsDeps, 'poolAccess'> {
  shop: WebhookStore
  event: ReadEvent
  webhookClient: Pick<WebhookClient, 'send'>
  /** Secret of this installation: webhook secrets are derived from it. */
  installationSecret: Uint8Array
  retryDelaysMs: readonly number[]
  /** From 0 to 1. */
  random(): number
  /** Awaited before a result is recorded, so that several share a commit. */
  pace?(): Promise<void>
}

/** When to look again. */
export interface NextStep {
  /** Undefined: when there is new mail. */
  waitMs: number | undefined
}

interface Look {
  /** Rarely stored: each write would cost more than examining the mail again. */
  position?: Position
  signal?: AbortSignal | undefined
}

const NOW: NextStep = { waitMs: 0 }
const NEW_MAIL: NextStep = { waitMs: undefined }
// A plan may be renewed, or a request of /emails refunded.
const QUOTA_POLL_MS = 60_000
const RACE_MS = 1_000
const SLOW_MS = 100
const EXAMINED_AT_ONCE = 100
const PAGES_AT_ONCE = 10
const CHECKED_EVERY_MS = 3_600_000

export function newPosition(): Position {
  return { replays: -1, changes: -1, sinceId: 0, lastId: 0, seenId: 0 }
}

/**
 * Delivers the next message of a webhook, if one is due. It is charged when it becomes pending, in one commit; every attempt
 * after that finds it pending, also on another node or after a crash.
 */
export async function deliverNext(
  deps: DeliverDeps,
  webhookId: string,
  { position = newPosition(), signal }: Look = {},
): Promise<NextStep> {
  const { shop, store } = deps
  const now = deps.now()
  const webhook = await shop.readWebhook(webhookId, now)
  if (!webhook || webhook.disabled || webhook.paused) return NEW_MAIL
  const { pending } = webhook
  const waitMs = (webhook.nextAttemptAt?.getTime() ?? 0) - now.getTime()
  if (waitMs > 0 && !pending) return { waitMs }

  notePosition(position, webhook)
  const message = pending
    ? (await store.readKeyMail(keyScope(deps, webhook), [pending.id]))[0]
    : await findNext(deps, webhook, { position, signal })
  if (message === 'more') return NOW
  if (message && waitMs > 0) return { waitMs }
  // After reading: what expired before that and was not delivered is missed.
  await checkForGap(deps, webhook, position)
  if (message) return await attempt(deps, webhook, message, signal)
  if (pending) {
    await shop.skipMessage(webhookId, pending.id, timeOfId(pending.id))
    return NOW
  }
  // Nothing is left to deliver that was there at this time. Stored for a restart only.
  position.seenId = Math.max(position.seenId, idAt(now))
  const checkedMs = timeOfId(webhook.checkedId).getTime()
  if (now.getTime() - checkedMs >= CHECKED_EVERY_MS) await shop.moveCursor(webhookId, position)
  return NEW_MAIL
}

function notePosition(position: Position, webhook: Webhook): void {
  const { replays, changes, lastId, checkedId, pending } = webhook
  const examinedId = position.changes === changes ? position.lastId : position.sinceId
  const passedId = position.replays === replays ? examinedId : 0
  position.seenId = Math.max(position.seenId, passedId, lastId, checkedId, pending?.id ?? 0)
  position.lastId = Math.max(passedId, lastId)
  position.sinceId = position.lastId
  position.replays = replays
  position.changes = changes
}

/** Records a gap if mail has expired that this webhook has not seen. */
async function checkForGap(deps: DeliverDeps, webhook: Webhook, position: Position) {
  const { seenId } = position
  const expiredId = await deps.store.lastExpired(keyScope(deps, webhook), seenId)
  if (expiredId <= seenId) return
  await deps.shop.recordGap(webhook.id, expiredId, timeOfId(seenId))
  position.seenId = expiredId
}

/** The oldest message after the cursor that the conditions select. `more`: not found yet, and others may deliver in between. */
async function findNext(
  { store, shop, steps, ...deps }: DeliverDeps,
  webhook: Webhook,
  { position, signal }: Look & { position: Position },
): Promise<Message | 'more' | undefined> {
  const scope = keyScope(deps, webhook)
  const page = { beforeId: undefined, oldestFirst: true }
  const { id, keyId, from, subject } = webhook
  const filter = parseFilter({ from, subject })
  if (!filter) {
    const [first] = await store.listKeyMail(scope, { ...page, sinceId: position.lastId, limit: 1 })
    return first
  }
  const request = { client: undefined, mailbox: `key ${keyId}`, signal }
  for (let pages = 0; pages < PAGES_AT_ONCE; pages += 1) {
    const { lastId: sinceId } = position
    const some = await store.listKeyMail(scope, { ...page, sinceId, limit: EXAMINED_AT_ONCE })
    const test = (message: Message) => matchesFilter(filter, message)
    const at = await steps.run(request, findIndexSteps(some, test))
    const passed = at < 0 ? some : some.slice(0, at)
    position.lastId = passed.at(-1)?.id ?? sinceId
    if (at >= 0) return some[at]
    if (some.length < EXAMINED_AT_ONCE) return undefined
    await shop.moveCursor(id, position)
  }
  return 'more'
}

/** Charges the message unless it is pending, and posts it. */
async function attempt(
  deps: DeliverDeps,
  webhook: Webhook,
  message: Message,
  signal: AbortSignal | undefined,
): Promise<NextStep> {
  const { shop } = deps
  const startedAt = deps.now()
  const paused = pauseReason(webhook, startedAt)
  if (paused) {
    const untilMidnight = nextUtcDay(startedAt).getTime() - startedAt.getTime()
    return { waitMs: Math.min(paused === 'daily_limit' ? untilMidnight : Infinity, QUOTA_POLL_MS) }
  }
  // Before it is parsed, so that webhooks that are woken together are charged in one commit.
  if (!webhook.pending) {
    const result = await shop.chargeMessage(webhook, message.id, startedAt)
    if (result !== 'charged') return result === 'changed' ? NOW : { waitMs: RACE_MS }
  }
  const body = await deps.event(message, webhook.keyId)
  // Deleted meanwhile, or moved to another partition.
  if (body === undefined) return { waitMs: RACE_MS }
  // It has waited for the parser: everything is read again, and the body is cached by then.
  if (deps.now().getTime() - startedAt.getTime() > SLOW_MS) return NOW
  signal?.throwIfAborted()
  const result = await post(deps, webhook, { messageId: message.id, body, signal })
  await deps.pace?.()
  await shop.recordAttempt(result)
  return NOW
}

interface Post {
  messageId: number
  body: string
  signal: AbortSignal | undefined
}

async function post(
  { webhookClient, installationSecret, retryDelaysMs: delaysMs, now, random }: DeliverDeps,
  webhook: Webhook,
  { messageId, body, signal }: Post,
): Promise<RecordedAttempt> {
  const timestamp = now()
  const { id: webhookId, url, keyId, pending, nextAttemptAt: dueAt } = webhook
  const { replay } = pending ?? { replay: webhook.replays }
  const id = deliveryId(webhookId, { id: messageId, replay })
  const secrets = validSecrets(installationSecret, webhook, timestamp)
  const headers = signedHeaders(secrets, { id, timestamp, body })
  const request = { url, keyId, headers, body, ...(signal && { signal }) }
  const { retryAfter, ...outcome } = await webhookClient.send(request)
  const at = now()
  const retryAfterMs = parseRetryAfter(retryAfter, at)
  const failed = isDelivered(outcome)
    ? undefined
    : afterFailure(webhook, outcome, { now: at, delaysMs, random: random(), retryAfterMs })
  const attempt = (pending ? webhook.attempts : 0) + 1
  return { webhookId, url, messageId, replay, attempt, ...outcome, at, dueAt, failed }
}
