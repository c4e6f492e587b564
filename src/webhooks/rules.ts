import { createHmac, hash } from 'node:crypto'
import type { Address } from '../base/address.ts'
import { type ApiKey, nextUtcDay, precheckQuota, type QuotaProblemCode } from '../keys/rules.ts'

/** A cursor over the mail that a key may see, and where to deliver it. */
export interface Webhook {
  id: string
  keyId: string
  /** As it was when the webhook was read: it decides whether a message can be charged. */
  key: ApiKey
  url: string
  /** Conditions, as given. */
  to: Address | undefined
  from: string | undefined
  subject: string | undefined
  createdAt: Date
  /** Generation of the secret, from 1. */
  generation: number
  /** Until then the secret of the previous generation is valid as well. */
  oldSecretUntil: Date | undefined
  disabled: DisableReason | undefined
  /** By its holder. */
  paused: boolean
  /** Messages up to this id are delivered, skipped or not selected. */
  lastId: number
  /** How often a replay was requested. */
  replays: number
  /** How often its holder has changed it. */
  changes: number
  pending: PendingMessage | undefined
  /** For the pending message. */
  attempts: number
  /** Failed attempts in a row, of any message. */
  failures: number
  lastError: string | undefined
  nextAttemptAt: Date | undefined
  failingSince: Date | undefined
  /** Since when mail may have expired before it was delivered. */
  gapSince: Date | undefined
  /** Up to this id it is known whether mail has expired before it was delivered. */
  checkedId: number
  lastDelivery: { messageId: number; at: Date } | undefined
}

/** The message that is being delivered. It is charged in the commit that makes it pending, once and for all attempts. */
interface PendingMessage {
  id: number
  /** The number of the replay it belongs to. */
  replay: number
}

export type NewWebhook = Pick<
  Webhook,
  'id' | 'keyId' | 'url' | 'to' | 'from' | 'subject' | 'createdAt' | 'lastId'
>

export interface DeliverableWebhook {
  id: string
  keyId: string
  to: Address | null
  from: string | null
  subject: string | null
  keyPrefix: string
}

/** Undefined: unchanged. */
export interface WebhookChange {
  url: string | undefined
  to: Address | undefined
  from: string | undefined
  subject: string | undefined
  /** Conditions that are removed. */
  clear: readonly WebhookCondition[]
  /** active: also enables it, and makes the next attempt due now. */
  state: 'active' | 'paused' | undefined
}

export const WEBHOOK_CONDITIONS = ['to', 'from', 'subject'] as const
export type WebhookCondition = (typeof WEBHOOK_CONDITIONS)[number]

/** gone: the receiver answered 410; failing: every attempt has failed for five days. */
export const DISABLE_REASONS = ['gone', 'failing'] as const
export type DisableReason = (typeof DISABLE_REASONS)[number]

export const MAX_WEBHOOKS_PER_KEY = 10
export const KEPT_DELIVERIES = 100

/** One attempt, as the list of deliveries shows it. */
export interface WebhookDelivery extends AttemptOutcome {
  messageId: number
  attempt: number
  at: Date
}

export interface RecordedAttempt extends WebhookDelivery {
  webhookId: string
  /** Where it was sent. If the webhook has another one meanwhile, a failure has no consequence. */
  url: string
  /** For the pending message. */
  replay: number
  /** The time of the next attempt, as the webhook was read before this one. If it has changed, a failure has no consequence. */
  dueAt: Date | undefined
  /** Undefined: delivered. */
  failed: FailedAttempt | undefined
}

/** Either a status or an error. */
export interface AttemptOutcome {
  status: number | null
  error: AttemptError | null
  ms: number
}

export const ATTEMPT_ERRORS = [
  'timeout',
  'not_resolved',
  'not_allowed',
  'connection_failed',
  'tls',
  'invalid_response',
] as const
export type AttemptError = (typeof ATTEMPT_ERRORS)[number]

/** 2xx. A redirect is a failure: its target was not checked. */
export function isDelivered({ status }: Pick<AttemptOutcome, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300
}

export function outcomeText({ status, error }: Omit<AttemptOutcome, 'ms'>): string {
  return error ?? `status_${status}`
}

export const WEBHOOK_STATES = ['active', 'failing', 'paused', 'disabled'] as const
type WebhookState = (typeof WEBHOOK_STATES)[number]

interface StateRule {
  state: Exclude<WebhookState, 'active'>
  /** Why the webhook is in this state; undefined if it is not. */
  reason(webhook: Webhook, now: Date): string | undefined
  /** Time of the next attempt; undefined if that depends on new mail, a renewal, or the holder. */
  nextAttemptAt(webhook: Webhook, now: Date): Date | undefined
}

/** The first one that has a reason is the state; without any, the webhook is active. The holder and the operator see the same. */
const STATES: readonly StateRule[] = [
  // From a 410 or five days of failures until it is enabled.
  { state: 'disabled', reason: ({ disabled }) => disabled, nextAttemptAt: () => undefined },
  // While its key cannot be charged; ends by itself.
  {
    state: 'paused',
    reason: pauseReason,
    nextAttemptAt: (webhook, now) =>
      pauseReason(webhook, now) === 'daily_limit' ? nextUtcDay(now) : undefined,
  },
  // From a failed attempt until the message is delivered or expires, or the webhook is enabled or replayed.
  {
    state: 'failing',
    reason: ({ failures, pending, lastError }) => (failures > 0 && pending ? lastError : undefined),
    nextAttemptAt: ({ nextAttemptAt }) => nextAttemptAt,
  },
]

/** Without a reason, it was paused by its holder. */
export function webhookStatus(webhook: Webhook, now: Date) {
  if (webhook.paused && !webhook.disabled) {
    return { state: 'paused' as const, reason: undefined, nextAttemptAt: undefined }
  }
  for (const rule of STATES) {
    const reason = rule.reason(webhook, now)
    if (reason === undefined) continue
    return { state: rule.state, reason, nextAttemptAt: rule.nextAttemptAt(webhook, now) }
  }
  return { state: 'active' as const, reason: undefined, nextAttemptAt: undefined }
}

/**
 * Why nothing is sent now. Before a message is charged this depends on the key alone: otherwise the state would reveal,
 * without a charge, that there is one. A pending message is charged, and waits only if its key was stopped.
 */
export function pauseReason({ pending, key }: Webhook, now: Date): QuotaProblemCode | undefined {
  if (!pending) return precheckQuota(key, now)
  return key.state === 'active' ? undefined : 'plan_expired'
}

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR

const MAX_RETRY_AFTER_MS = DAY
const FAILING_MS = 5 * DAY

interface RetrySchedule {
  /** After the first failure, the second, … The last one repeats, with jitter. */
  delaysMs: readonly number[]
  /** From 0 to 1. */
  random: number
  /** As the receiver requested. */
  retryAfterMs?: number | undefined
}

/** How long to wait after this many failures in a row. */
export function retryDelayMs(
  failures: number,
  { delaysMs, random, retryAfterMs = 0 }: RetrySchedule,
): number {
  const first = delaysMs.slice(0, -1)
  const last = delaysMs.at(-1) ?? HOUR
  const delay = first[failures - 1] ?? Math.round(last * (0.9 + 0.2 * random))
  return Math.max(delay, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS))
}

/** The value of Retry-After, seconds or a date, in milliseconds; undefined if it is neither. */
export function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND
  // Date.parse alone would take almost any text.
  const time = /^[A-Z][a-z]{2}, \d/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? undefined : Math.max(0, time - now.getTime())
}

// The longest delay that a schedule may have, with some tolerance.
const QUIET_MS = 2 * HOUR

/** What follows from an attempt that failed. Without mail, or while the service was stopped, nothing has failed. */
export function afterFailure(
  webhook: Pick<Webhook, 'failures' | 'failingSince' | 'nextAttemptAt'>,
  { status }: Pick<AttemptOutcome, 'status'>,
  { now, ...schedule }: RetrySchedule & { now: Date },
): FailedAttempt {
  const { nextAttemptAt } = webhook
  const isRestart = nextAttemptAt && now.getTime() - nextAttemptAt.getTime() >= QUIET_MS
  const before = isRestart ? { failures: 0, failingSince: undefined } : webhook
  const { failingSince = now } = before
  const failures = before.failures + 1
  const isOver = now.getTime() - failingSince.getTime() >= FAILING_MS
  const disabled = status === 410 ? 'gone' : isOver ? 'failing' : undefined
  const retryMs = now.getTime() + retryDelayMs(failures, schedule)
  return { failures, failingSince, disabled, retryAt: disabled ? undefined : new Date(retryMs) }
}

interface FailedAttempt {
  /** In a row, with this one. */
  failures: number
  failingSince: Date
  disabled: DisableReason | undefined
  retryAt: Date | undefined
}

/** The same for all attempts of a message; another one if it is replayed. */
export function deliveryId(webhookId: string, { id, replay }: PendingMessage): string {
  return `msg_${hash('sha256', `${webhookId} ${id} ${replay}`, 'base64url').slice(0, 24)}`
}

const SECRET_PREFIX = 'whsec_'

/** Derived, so that no secret is stored: 32 bytes in base64. */
export function webhookSecret(installation: Uint8Array, id: string, generation: number): string {
  const secret = createHmac('sha256', installation).update(
    JSON.stringify(['webhook', id, generation]),
  )
  return SECRET_PREFIX + secret.digest('base64')
}

/** The secrets to sign with, newest first: two while a rolled secret is still valid. */
export function validSecrets(
  installation: Uint8Array,
  { id, generation, oldSecretUntil }: Pick<Webhook, 'id' | 'generation' | 'oldSecretUntil'>,
  now: Date,
): string[] {
  const isRolled = oldSecretUntil !== undefined && oldSecretUntil.getTime() > now.getTime()
  const generations = isRolled ? [generation, generation - 1] : [generation]
  return generations.map((each) => webhookSecret(installation, id, each))
}

/** Headers of Standard Webhooks. */
export function signedHeaders(
  secrets: readonly string[],
  { id, timestamp, body }: { id: string; timestamp: Date; body: string },
): Record<string, string> {
  const seconds = String(Math.floor(timestamp.getTime() / SECOND))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
    const signed = createHmac('sha256', key).update(`${id}.${seconds}.${body}`)
    return `v1,${signed.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures.join(' '),
  }
}
