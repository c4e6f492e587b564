import type { Address } from '../base/address.ts'
import { type CreatedPage, type Operation, pageStart, query } from '../base/operation.ts'
import { type KeyRow, keyOf } from '../keys/store.ts'
import type { DeliverableWebhook, DisableReason, Webhook, WebhookDelivery } from './rules.ts'

/** With its key. */
interface WebhookRow extends Omit<KeyRow, 'id' | 'created_at'> {
  id: string
  key_id: string
  key_created_at: number
  url: string
  to_address: Address | null
  from_pattern: string | null
  subject: string | null
  created_at: number
  generation: number
  old_secret_until: number | null
  disabled: DisableReason | null
  paused_at: number | null
  last_id: number
  replays: number
  changes: number
  pending_id: number | null
  pending_replay: number
  /** Day on which the pending message was charged; null if there is none. Release 0.3 also sets pending_id before. */
  charged_day: number | null
  attempts: number
  failures: number
  last_error: string | null
  next_attempt_at: number | null
  failing_since: number | null
  gap_since: number | null
  checked_id: number
  delivered_at: number | null
  delivered_id: number
}

/** Release 0.3 marks an uncharged pending message as checked when it stops: if it expires, that is a gap, too. */
export const CHECKED = `case when charged_day is null and last_id < pending_id and pending_id <= checked_id
  then pending_id - 1 else checked_id end`

const SELECT = `select webhook.id, key_id, url, to_address, from_pattern, subject, webhook.created_at, generation,
    old_secret_until, disabled, paused_at, last_id, replays, changes, pending_id, pending_replay, charged_day, attempts, failures,
    last_error, next_attempt_at, failing_since, gap_since, ${CHECKED} as checked_id, delivered_at, delivered_id,
    prefix, plan, label, state, max_requests, max_per_day, max_domains, used, day, used_today, period, expires_at,
    api_key.created_at as key_created_at
  from shop.webhook join shop.api_key on api_key.id = key_id`

function webhookOf(row: WebhookRow, now: Date): Webhook {
  const { key_id: keyId, delivered_at: deliveredAt, pending_id: pendingId } = row
  return {
    id: row.id,
    keyId,
    key: keyOf({ ...row, id: keyId, created_at: row.key_created_at }, now),
    url: row.url,
    to: row.to_address ?? undefined,
    from: row.from_pattern ?? undefined,
    subject: row.subject ?? undefined,
    createdAt: new Date(row.created_at),
    generation: row.generation,
    oldSecretUntil: dateOf(row.old_secret_until),
    disabled: row.disabled ?? undefined,
    paused: row.paused_at !== null,
    lastId: row.last_id,
    replays: row.replays,
    changes: row.changes,
    pending:
      row.charged_day === null || pendingId === null
        ? undefined
        : { id: pendingId, replay: row.pending_replay },
    attempts: row.attempts,
    failures: row.failures,
    lastError: row.last_error ?? undefined,
    nextAttemptAt: dateOf(row.next_attempt_at),
    failingSince: dateOf(row.failing_since),
    gapSince: dateOf(row.gap_since),
    checkedId: row.checked_id,
    lastDelivery:
      deliveredAt === null ? undefined : { messageId: row.delivered_id, at: new Date(deliveredAt) },
  }
}

function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms)
}

type WebhookCounts = Record<'all' | 'failing', number>

export const webhookReads = {
  /** `keyId`: only if it belongs to this key. */
  *readWebhook(id: string, now: Date, keyId?: string): Operation<Webhook | undefined> {
    const [row] = yield* query<WebhookRow>(
      `${SELECT} where webhook.id = $1 and key_id = coalesce($2, key_id)`,
      [id, keyId],
    )
    return row && webhookOf(row, now)
  },
  /** Webhooks of a key, oldest first. */
  *listWebhooks(keyId: string, now: Date): Operation<Webhook[]> {
    const rows = yield* query<WebhookRow>(
      `${SELECT} where key_id = $1 order by webhook.created_at, webhook.id`,
      [keyId],
    )
    return rows.map((row) => webhookOf(row, now))
  },
  /** Webhooks of all keys, newest first. */
  *listAllWebhooks({ limit, before, now }: CreatedPage & { now: Date }): Operation<Webhook[]> {
    const rows = yield* query<WebhookRow>(
      `${SELECT} where (webhook.created_at, webhook.id) < ($1, $2)
       order by webhook.created_at desc, webhook.id desc limit $3`,
      [...pageStart(before), limit],
    )
    return rows.map((row) => webhookOf(row, now))
  },
  /** `failing`: those that are failing or disabled. Failures count while their message is pending. */
  *countWebhooks(): Operation<WebhookCounts> {
    const [row] = yield* query<WebhookCounts>(
      `select cast(count(*) as bigint) as "all",
         cast(count(case when disabled is not null
           or (failures > 0 and charged_day is not null) then 1 end) as bigint) as failing
       from shop.webhook`,
    )
    return row ?? { all: 0, failing: 0 }
  },
  /** Those that are neither disabled nor paused by their holder, of keys that are not revoked. */
  listDeliverable: (): Operation<DeliverableWebhook[]> =>
    query(
      `select webhook.id, key_id as "keyId", to_address as "to", from_pattern as "from", subject,
         prefix as "keyPrefix"
       from shop.webhook join shop.api_key on api_key.id = key_id
       where disabled is null and paused_at is null and api_key.state <> 'revoked' order by webhook.id`,
    ),
  /** Newest first. */
  *listDeliveries(id: string): Operation<WebhookDelivery[]> {
    const rows = yield* query<Omit<WebhookDelivery, 'at'> & { at: number }>(
      `select message_id as "messageId", attempt, status, error, ms, at from shop.webhook_delivery
       where webhook_id = $1 order by number desc`,
      [id],
    )
    return rows.map((row) => ({ ...row, at: new Date(row.at) }))
  },
}
