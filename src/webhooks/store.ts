import type { CreatedPage } from '../base/operation.ts'
import type { QuotaProblemCode } from '../keys/rules.ts'
import type { FailedAttempt, Webhook, WebhookDelivery } from './rules.ts'

/**
 * Webhooks, how far each has delivered, and what it has charged. No charge is ever refunded: a state that costs nothing would tell
 * for nothing that there is a message. A change that finds another state than expected does nothing.
 */
export interface WebhookStore {
  /** False if the key has `max` of them. */
  addWebhook(webhook: NewWebhook, max: number): Promise<boolean>
  readWebhook(id: string): Promise<Webhook | undefined>
  /** Of a key, oldest first. */
  listWebhooks(keyId: string): Promise<Webhook[]>
  /** Of all keys, newest first. */
  listAllWebhooks(page: CreatedPage): Promise<Webhook[]>
  countWebhooks(): Promise<WebhookCounts>
  /** Those that are not disabled, of keys that are not revoked. */
  listDeliverable(): Promise<DeliverableWebhook[]>
  /** Newest first. */
  listDeliveries(id: string): Promise<WebhookDelivery[]>

  /**
   * Charges one request and records the message as pending, in one commit. `refused`: the key has none left; `changed`: this
   * message is not the next one any more, or another node has charged it.
   */
  takeMessage(next: NextMessage): Promise<'taken' | 'refused' | 'changed'>
  /** Records that the message waits for its key. If it is charged, it stays so. */
  pauseWebhook(next: NextMessage, reason: QuotaProblemCode): Promise<void>
  /** Records that messages up to this id are not selected. */
  passMessages(next: Omit<NextMessage, 'now'>): Promise<void>
  /** Records an attempt. The message is delivered, or pending until the next attempt, or the webhook is disabled. */
  recordAttempt(attempt: RecordedAttempt): Promise<boolean>
  /** The pending message has expired or was deleted: records a gap since then or earlier. */
  skipMessage(id: string, messageId: number, gapSince: Date): Promise<boolean>

  /** Records that mail up to this id was checked; with `gapSince`, that some may have expired since then, or earlier if it fails or is blocked for longer. */
  checkWebhook(id: string, checkedId: number, gapSince?: Date): Promise<void>

  /** Undefined if there is no such webhook. */
  rollWebhook(id: string, now: Date, oldUntil: Date): Promise<WebhookRoll | undefined>
  /** Delivers again what is newer than this id, and the rest; the next attempt is due now. */
  replayWebhook(id: string, sinceId: number): Promise<boolean>
  /** Enables it, and makes the next attempt due now. */
  enableWebhook(id: string): Promise<boolean>
  deleteWebhook(id: string): Promise<boolean>
}

export type NewWebhook = Pick<
  Webhook,
  'id' | 'keyId' | 'url' | 'to' | 'from' | 'subject' | 'createdAt' | 'lastId'
>

/** `failing`: those that are not active, see webhookStatus in webhooks/rules.ts. */
export interface WebhookCounts {
  all: number
  failing: number
}

export interface DeliverableWebhook extends Pick<Webhook, 'id' | 'keyId' | 'to'> {
  keyPrefix: string
}

/** The next message of a webhook, as it was read. */
export interface NextMessage {
  webhook: Pick<Webhook, 'id' | 'keyId' | 'lastId' | 'replays' | 'pending'>
  messageId: number
  now: Date
}

export interface RecordedAttempt extends WebhookDelivery {
  webhookId: string
  /** Of the pending message. */
  replay: number
  /** The time of the next attempt, as the webhook was read before this one. If it has changed, a failure has no consequence. */
  dueAt: Date | undefined
  result: 'delivered' | FailedAttempt
}

/** `until`: the old secret is still valid, so it was not rolled. */
export type WebhookRoll = { generation: number } | { until: Date }
