import type { FailedAttempt, Webhook, WebhookDelivery } from './rules.ts'

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
