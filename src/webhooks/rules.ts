import { createHmac, hash } from 'node:crypto'
import type { Address } from '../base/address.ts'
import { type ApiKey, nextUtcDay, precheckQuota, type QuotaProblemCode } from '../keys/rules.ts'

/** A cursor over the mail that a key may see, and where to deliver it. */
export interface Webhook {
  id: string
  keyId: string
  url: string
  /** Conditions, as given. */
  to: Address | undefined
  from: string | undefined
  subject: string | undefined
  createdAt: Date
  /** Of the secret, from 1. */
  generation: number
  /** Until then the secret of the previous generation is valid as well. */
  oldSecretUntil: Date | undefined
  disabled: DisableReason | undefined
  /** Why the pending message cannot be charged, or may not be sent although it is. */
  paused: QuotaProblemCode | undefined
  /** Messages up to this id are delivered, skipped or not selected. */
  lastId: number
  /** How often a replay was requested. */
  replays: number
  pending: PendingMessage | undefined
  /** Of the pending message. */
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

/** The next message to deliver. It is charged before the first attempt. */
export interface PendingMessage {
  id: number
  /** The number of the replay it belongs to. */
  replay: number
  charged: boolean
}

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

/** Either a status or an error. */
export interface AttemptOutcome {
  status: number | undefined
  error: AttemptError | undefined
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
export function isDelivered({ status = 0 }: Pick<AttemptOutcome, 'status'>): boolean {
  return status >= 200 && status < 300
}

export function outcomeText({ status, error }: Omit<AttemptOutcome, 'ms'>): string {
  return error ?? `status_${status}`
}

interface WebhookStatus {
  state: 'active' | 'failing' | 'paused' | 'disabled'
  reason: string | undefined
  /** Of the next attempt; undefined if that depends on new mail or a renewal. */
  nextAttemptAt: Date | undefined
}

export function webhookStatus(webhook: Webhook, now: Date): WebhookStatus {
  const { disabled, paused, failures, lastError, pending } = webhook
  if (disabled) return { state: 'disabled', reason: disabled, nextAttemptAt: undefined }
  if (paused) {
    const resumesAt = paused === 'daily_limit' ? nextUtcDay(now) : undefined
    return { state: 'paused', reason: paused, nextAttemptAt: resumesAt }
  }
  // Without a pending message, the next attempt depends on new mail.
  const nextAttemptAt = pending?.charged ? webhook.nextAttemptAt : undefined
  if (failures > 0) return { state: 'failing', reason: lastError, nextAttemptAt }
  return { state: 'active', reason: undefined, nextAttemptAt: undefined }
}

/** For the holder of its key. A state that depended on a message before it is charged would tell for nothing that there is one. */
export function statusForHolder(webhook: Webhook, key: ApiKey, now: Date): WebhookStatus {
  const paused = webhook.pending?.charged ? webhook.paused : precheckQuota(key, now)
  return webhookStatus({ ...webhook, paused }, now)
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const FIRST_DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE]
const MAX_RETRY_AFTER_MS = DAY
const FAILING_MS = 5 * DAY

/** How long to wait after this many failures in a row. `random` is from 0 to 1. */
export function retryDelayMs(failures: number, random: number, retryAfterMs = 0): number {
  const delay = FIRST_DELAYS[failures - 1] ?? Math.round(HOUR * (0.9 + 0.2 * random))
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

// The longest delay of the schedule, with some tolerance.
const QUIET_MS = 2 * HOUR

/** What follows from an attempt that failed. Without mail, or while the service was stopped, nothing has failed. */
export function afterFailure(
  webhook: Pick<Webhook, 'failures' | 'failingSince' | 'nextAttemptAt'>,
  { status }: Pick<AttemptOutcome, 'status'>,
  { now, random, retryAfterMs }: { now: Date; random: number; retryAfterMs?: number | undefined },
): FailedAttempt {
  const { nextAttemptAt } = webhook
  const isRestart = nextAttemptAt && now.getTime() - nextAttemptAt.getTime() >= QUIET_MS
  const { failures: before, failingSince = now } = isRestart
    ? { failures: 0, failingSince: undefined }
    : webhook
  const failures = before + 1
  const streak = { failures, failingSince }
  if (status === 410) return { ...streak, disabled: 'gone' }
  if (now.getTime() - failingSince.getTime() >= FAILING_MS)
    return { ...streak, disabled: 'failing' }
  const delay = retryDelayMs(failures, random, retryAfterMs)
  return { ...streak, retryAt: new Date(now.getTime() + delay) }
}

/** `failures`: in a row, with this one. */
export type FailedAttempt = { failures: number; failingSince: Date } & (
  | { retryAt: Date }
  | { disabled: DisableReason }
)

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
