import type { Address } from '../base/address.ts'
import { type CreatedPage, type Operation, pageStart, query } from '../base/operation.ts'
import type { QuotaProblemCode } from '../keys/rules.ts'
import type { AttemptError, DisableReason, Webhook, WebhookDelivery } from './rules.ts'
import type { DeliverableWebhook, WebhookCounts } from './store.ts'

export interface WebhookRow {
  id: string
  key_id: string
  url: string
  to_address: Address | null
  from_pattern: string | null
  subject: string | null
  created_at: number
  generation: number
  old_secret_until: number | null
  disabled: DisableReason | null
  paused: QuotaProblemCode | null
  last_id: number
  replays: number
  pending_id: number | null
  pending_replay: number
  charged_day: number | null
  attempts: number
  failures: number
  last_error: string | null
  next_attempt_at: number | null
  failing_since: number | null
  gap_since: number | null
  checked_id: number
  delivered_at: number | null
  delivered_id: number | null
  deliveries: number
}

const COLUMNS = `id, key_id, url, to_address, from_pattern, subject, created_at, generation, old_secret_until,
  disabled, paused, last_id, replays, pending_id, pending_replay, charged_day, attempts, failures,
  last_error, next_attempt_at, failing_since, gap_since, checked_id, delivered_at, delivered_id, deliveries`

function webhookOf(row: WebhookRow): Webhook {
  const { pending_id: pendingId, delivered_at: deliveredAt } = row
  return {
    id: row.id,
    keyId: row.key_id,
    url: row.url,
    to: row.to_address ?? undefined,
    from: row.from_pattern ?? undefined,
    subject: row.subject ?? undefined,
    createdAt: new Date(row.created_at),
    generation: row.generation,
    oldSecretUntil: dateOf(row.old_secret_until),
    disabled: row.disabled ?? undefined,
    paused: row.paused ?? undefined,
    lastId: row.last_id,
    replays: row.replays,
    pending:
      pendingId === null
        ? undefined
        : { id: pendingId, replay: row.pending_replay, charged: row.charged_day !== null },
    attempts: row.attempts,
    failures: row.failures,
    lastError: row.last_error ?? undefined,
    nextAttemptAt: dateOf(row.next_attempt_at),
    failingSince: dateOf(row.failing_since),
    gapSince: dateOf(row.gap_since),
    checkedId: row.checked_id,
    lastDelivery:
      deliveredAt === null
        ? undefined
        : { messageId: row.delivered_id ?? 0, at: new Date(deliveredAt) },
  }
}

export function dateOf(ms: number | null): Date | undefined {
  return ms === null ? undefined : new Date(ms)
}

interface DeliveryRow {
  message_id: number
  attempt: number
  status: number | null
  error: AttemptError | null
  ms: number
  at: number
}

export const webhookReads = {
  *readWebhook(id: string): Operation<Webhook | undefined> {
    const [row] = yield* query<WebhookRow>(`select ${COLUMNS} from shop.webhook where id = $1`, [
      id,
    ])
    return row && webhookOf(row)
  },
  /** Of a key, oldest first. */
  *listWebhooks(keyId: string): Operation<Webhook[]> {
    const rows = yield* query<WebhookRow>(
      `select ${COLUMNS} from shop.webhook where key_id = $1 order by created_at, id`,
      [keyId],
    )
    return rows.map(webhookOf)
  },
  /** Of all keys, newest first. */
  *listAllWebhooks({ limit, before }: CreatedPage): Operation<Webhook[]> {
    const rows = yield* query<WebhookRow>(
      `select ${COLUMNS} from shop.webhook where (created_at, id) < ($1, $2)
       order by created_at desc, id desc limit $3`,
      [...pageStart(before), limit],
    )
    return rows.map(webhookOf)
  },
  *countWebhooks(): Operation<WebhookCounts> {
    const [row] = yield* query<WebhookCounts>(
      `select cast(count(*) as bigint) as "all", cast(count(case
         when disabled is not null or paused is not null or failures > 0 then 1 end) as bigint) as failing
       from shop.webhook`,
    )
    return row ?? { all: 0, failing: 0 }
  },
  /** Those that are not disabled, of keys that are not revoked. */
  *listDeliverable(): Operation<DeliverableWebhook[]> {
    const rows = yield* query<
      Pick<WebhookRow, 'id' | 'key_id' | 'to_address'> & { prefix: string }
    >(
      `select webhook.id, key_id, to_address, prefix from shop.webhook
       join shop.api_key on api_key.id = key_id
       where disabled is null and api_key.state <> 'revoked' order by webhook.id`,
    )
    return rows.map(({ id, key_id: keyId, to_address: to, prefix: keyPrefix }) => ({
      id,
      keyId,
      to: to ?? undefined,
      keyPrefix,
    }))
  },
  /** Newest first. */
  *listDeliveries(id: string): Operation<WebhookDelivery[]> {
    const rows = yield* query<DeliveryRow>(
      `select message_id, attempt, status, error, ms, at from shop.webhook_delivery
       where webhook_id = $1 order by number desc`,
      [id],
    )
    return rows.map((row) => ({
      messageId: row.message_id,
      attempt: row.attempt,
      status: row.status ?? undefined,
      error: row.error ?? undefined,
      ms: row.ms,
      at: new Date(row.at),
    }))
  },
}
