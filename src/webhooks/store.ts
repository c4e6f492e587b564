import type { Address } from '../base/address.ts'
import { idAt } from '../base/id.ts'
import {
  type AsyncMethods,
  type CreatedPage,
  type Operation,
  pageStart,
  query,
} from '../base/operation.ts'
import { chargeRequests, type KeyRow, keyOf, lockKey } from '../keys/store.ts'
import {
  type DeliverableWebhook,
  type DisableReason,
  KEPT_DELIVERIES,
  MAX_WEBHOOKS_PER_KEY,
  type NewWebhook,
  outcomeText,
  type Position,
  type RecordedAttempt,
  type Webhook,
  type WebhookDelivery,
} from './rules.ts'

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
  last_id: number
  replays: number
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
const CHECKED = `case when charged_day is null and last_id < pending_id and pending_id <= checked_id
  then pending_id - 1 else checked_id end`
const ONLY_CHARGED = 'pending_id = case when charged_day is null then null else pending_id end'

const SELECT = `select webhook.id, key_id, url, to_address, from_pattern, subject, webhook.created_at, generation,
    old_secret_until, disabled, last_id, replays, pending_id, pending_replay, charged_day, attempts, failures, last_error,
    next_attempt_at, failing_since, gap_since, ${CHECKED} as checked_id, delivered_at, delivered_id,
    prefix, plan, label, state, max_requests, max_per_day, used, day, used_today, period, expires_at,
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
    lastId: row.last_id,
    replays: row.replays,
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
  *readWebhook(id: string, now: Date): Operation<Webhook | undefined> {
    const [row] = yield* query<WebhookRow>(`${SELECT} where webhook.id = $1`, [id])
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
  /** `failing`: those that are failing or disabled. */
  *countWebhooks(): Operation<WebhookCounts> {
    const [row] = yield* query<WebhookCounts>(
      `select cast(count(*) as bigint) as "all",
         cast(count(case when disabled is not null or failures > 0 then 1 end) as bigint) as failing
       from shop.webhook`,
    )
    return row ?? { all: 0, failing: 0 }
  },
  /** Those that are not disabled, of keys that are not revoked. */
  listDeliverable: (): Operation<DeliverableWebhook[]> =>
    query(
      `select webhook.id, key_id as "keyId", to_address as "to", prefix as "keyPrefix" from shop.webhook
       join shop.api_key on api_key.id = key_id
       where disabled is null and api_key.state <> 'revoked' order by webhook.id`,
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

const NO_FAILURES = 'failures = 0, last_error = null, failing_since = null, next_attempt_at = null'

/** The cursor after the pending message, unless a replay has moved it since. */
const NEXT_CURSOR = `last_id = case when replays = pending_replay then pending_id else last_id end,
  pending_id = null, charged_day = null, attempts = 0`

/** SQLite has no `least`. */
const EARLIER_GAP = 'case when gap_since <= $3 then gap_since else $3 end'

/** Each is one statement. */
export const webhookWrites = {
  /** Records how far mail was examined that is not selected, and up to where it is known whether mail has expired. */
  *moveCursor(id: string, { replays, lastId, seenId }: Position): Operation<void> {
    yield* query(
      `update shop.webhook set checked_id = case when ${CHECKED} < $2 then $2 else ${CHECKED} end, ${ONLY_CHARGED},
         last_id = case when last_id < $3 and replays = $4 and charged_day is null then $3 else last_id end
       where id = $1`,
      [id, Math.max(seenId, lastId), lastId, replays],
    )
  },
  /** Mail up to this id has expired, some of it before it was seen: records a gap since then or earlier. */
  *recordGap(id: string, expiredId: number, since: Date): Operation<void> {
    yield* query(
      `update shop.webhook set checked_id = $2, gap_since = ${EARLIER_GAP}, ${ONLY_CHARGED}
       where id = $1 and ${CHECKED} < $2`,
      [id, expiredId, since.getTime()],
    )
  },
  /** The pending message has expired or was deleted: records a gap since then or earlier. */
  *skipMessage(id: string, messageId: number, since: Date): Operation<void> {
    yield* query(
      `update shop.webhook set ${NEXT_CURSOR}, gap_since = ${EARLIER_GAP}
       where id = $1 and pending_id = $2 and charged_day is not null`,
      [id, messageId, since.getTime()],
    )
  },
  /** Delivers again what is newer than this id, and the rest; the next attempt is due now. */
  *replayWebhook(id: string, sinceId: number): Operation<void> {
    // A pending message is still delivered first; then from there. Unless the cursor moves back, nothing is repeated.
    yield* query(
      `update shop.webhook set last_id = case when last_id < $2 then last_id else $2 end,
         replays = replays + case when $2 < last_id then 1 else 0 end, ${ONLY_CHARGED}, gap_since = null, ${NO_FAILURES},
         checked_id = case when ${CHECKED} < last_id then last_id else ${CHECKED} end
       where id = $1`,
      [id, sinceId],
    )
  },
  /** Enables it, and makes the next attempt due now. */
  *enableWebhook(id: string): Operation<void> {
    yield* query(`update shop.webhook set disabled = null, ${NO_FAILURES} where id = $1`, [id])
  },
  /** The new generation; undefined if the old secret is still valid. */
  *rollWebhook(id: string, now: Date, oldUntil: Date): Operation<number | undefined> {
    const [row] = yield* query<{ generation: number }>(
      `update shop.webhook set generation = generation + 1, old_secret_until = $3
       where id = $1 and (old_secret_until is null or old_secret_until <= $2) returning generation`,
      [id, now.getTime(), oldUntil.getTime()],
    )
    return row?.generation
  },
}

const LOCK = 'select deliveries, next_attempt_at from shop.webhook where id = $1'

/** Transactions of several statements. Each locks the webhook first, then its key. */
export const webhookTransactions = {
  /** False if the key has as many as it may. */
  *addWebhook(webhook: NewWebhook): Operation<boolean> {
    const { id, keyId, url, to, from, subject, createdAt, lastId } = webhook
    yield* lockKey(keyId)
    const known = yield* query('select 1 from shop.webhook where key_id = $1', [keyId])
    if (known.length >= MAX_WEBHOOKS_PER_KEY) return false
    yield* query(
      `insert into shop.webhook (id, key_id, url, to_address, from_pattern, subject, created_at, last_id, checked_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [id, keyId, url, to, from, subject, createdAt.getTime(), lastId, idAt(createdAt)],
    )
    return true
  },
  /**
   * Charges one request and makes the message pending, in one commit. `refused`: the key has none left; `changed`: this message
   * is not the next one any more, or another node has charged it.
   */
  *chargeMessage(
    { id, keyId, lastId, replays }: Pick<Webhook, 'id' | 'keyId' | 'lastId' | 'replays'>,
    messageId: number,
    now: Date,
  ): Operation<'charged' | 'refused' | 'changed'> {
    const [row] = yield* query(
      `${LOCK} and last_id = $2 and replays = $3 and charged_day is null and disabled is null
       for no key update`,
      [id, lastId, replays],
    )
    if (!row) return 'changed'
    const key = yield* chargeRequests(keyId, now, 1)
    if (!key) return 'refused'
    yield* query(
      `update shop.webhook set pending_id = $2, pending_replay = replays, charged_day = $3, attempts = 0
       where id = $1`,
      [id, messageId, key.day],
    )
    return 'charged'
  },
  /**
   * Records an attempt: the message is delivered, or pending until the next attempt, or the webhook is disabled. False if this
   * message is not pending any more.
   */
  *recordAttempt(attempt: RecordedAttempt): Operation<boolean> {
    const { webhookId: id, messageId, replay, status, error, ms, dueAt, failed } = attempt
    const at = attempt.at.getTime()
    const [row] = yield* query<{ deliveries: number; next_attempt_at: number | null }>(
      `${LOCK} and pending_id = $2 and pending_replay = $3 and charged_day is not null
       for no key update`,
      [id, messageId, replay],
    )
    if (!row) return false
    const number = row.deliveries + 1
    yield* query(
      `insert into shop.webhook_delivery (webhook_id, number, message_id, attempt, status, error, ms, at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [id, number, messageId, attempt.attempt, status, error, ms, at],
    )
    yield* query('delete from shop.webhook_delivery where webhook_id = $1 and number <= $2', [
      id,
      number - KEPT_DELIVERIES,
    ])
    if (!failed) {
      yield* query(
        `update shop.webhook set ${NEXT_CURSOR}, deliveries = $2, delivered_at = $3, delivered_id = pending_id,
           ${NO_FAILURES}
         where id = $1`,
        [id, number, at],
      )
      return true
    }
    const [change, ...values] =
      row.next_attempt_at === (dueAt?.getTime() ?? null)
        ? [
            ', last_error = $4, next_attempt_at = $5, disabled = $6, failures = $7, failing_since = $8',
            outcomeText(attempt),
            failed.retryAt?.getTime(),
            failed.disabled,
            failed.failures,
            failed.failingSince.getTime(),
          ]
        : // Its owner has enabled or replayed it meanwhile: the next attempt is due, and begins a new series.
          ['']
    yield* query(`update shop.webhook set deliveries = $2, attempts = $3 ${change} where id = $1`, [
      id,
      number,
      attempt.attempt,
      ...values,
    ])
    return true
  },
  *deleteWebhook(id: string): Operation<void> {
    yield* query(`${LOCK} for update`, [id])
    yield* query('delete from shop.webhook_delivery where webhook_id = $1', [id])
    yield* query('delete from shop.webhook where id = $1', [id])
  },
}

/**
 * Webhooks, how far each has delivered, and what it has charged. No charge is ever refunded: otherwise a
 * webhook would reveal, without a charge, that there is a message. A change that finds another state than expected does nothing.
 */
export interface WebhookStore
  extends AsyncMethods<typeof webhookReads & typeof webhookWrites & typeof webhookTransactions> {}
