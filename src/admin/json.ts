import { maskAddress, parseAddress } from '../base/address.ts'
import { timestampFields } from '../base/time.ts'
import type { ListedBlock } from '../blocks/blocks.ts'
import { type ApiKey, remainingQuota } from '../keys/rules.ts'
import type { Session } from '../mail/rules/session.ts'
import type { Purchase } from '../shop/rules.ts'
import { type Webhook, type WebhookDelivery, webhookStatus } from '../webhooks/rules.ts'

// What the operator sees as JSON, from commands and from the admin API: names and times as in the public API.

export function blockJson({ entry, kind, note, createdAt, expiresAt, number }: ListedBlock) {
  return {
    entry,
    kind,
    note,
    ...timestampFields('created_at', createdAt),
    ...timestampFields('expires_at', expiresAt),
    number,
  }
}

/** Never a token or its hash, never the key's id. */
export function sessionJson({ address, createdAt, expiresAt, count, bytes, keyId }: Session) {
  return {
    email: address,
    ...timestampFields('created_at', createdAt),
    ...timestampFields('expires_at', expiresAt),
    messages: count,
    bytes,
    key: keyId !== undefined,
  }
}

export function keyJson(key: ApiKey) {
  const left = remainingQuota(key)
  return {
    id: key.id,
    prefix: key.prefix,
    plan: key.plan,
    label: key.label,
    state: key.state,
    requests: key.maxRequests,
    used: key.used,
    remaining: left.all,
    per_day: key.maxPerDay ?? null,
    used_today: key.usedToday,
    remaining_today: left.today ?? null,
    ...timestampFields('created_at', key.createdAt),
    ...timestampFields('expires_at', key.expiresAt),
  }
}

export function orderJson(order: Purchase) {
  const paid = order.payments > 0
  return {
    id: order.id,
    provider: order.provider,
    mode: order.mode,
    plan: order.plan.id,
    price_cents: order.plan.priceCents,
    currency: order.plan.currency,
    state: order.state,
    email: maskedEmail(order) ?? null,
    payments: order.payments,
    partly_returned: order.partlyReturned,
    key_id: paid ? order.keyId : null,
    key_prefix: paid ? order.keyPrefix : null,
    checkout: order.checkoutRef ?? null,
    subscription: order.subscriptionRef ?? null,
    ...timestampFields('created_at', order.createdAt),
    ...timestampFields('paid_until', order.paidUntil),
    ...timestampFields('claimed_at', order.claimedAt),
  }
}

/** Enough to recognize a buyer, too little for somebody who looks over a shoulder. */
export function maskedEmail({ email }: Purchase): string | undefined {
  if (email === undefined) return undefined
  const address = parseAddress(email)
  return address ? maskAddress(address) : '…'
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
