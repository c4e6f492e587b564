import { idAt } from '../base/id.ts'
import { type AsyncMethods, type Operation, query } from '../base/operation.ts'
import type { QuotaProblemCode } from '../keys/rules.ts'
import { lockKey, spend } from '../keys/store.ts'
import { KEPT_DELIVERIES, outcomeText } from './rules.ts'
import type { NewWebhook, NextMessage, RecordedAttempt, WebhookRoll } from './store.ts'
import { dateOf, type WebhookRow, type webhookReads } from './store-reads.ts'

const NO_FAILURES = 'failures = 0, last_error = null, failing_since = null, next_attempt_at = null'

/** The cursor after the pending message, unless a replay has moved it since. */
const NEXT_CURSOR = `last_id = case when replays = pending_replay then pending_id else last_id end,
  pending_id = null, charged_day = null, attempts = 0, paused = null`

/** Mail may be missed since the first of these times. SQLite has no `least`. */
function earliestGap(since: string): string {
  const others = ['blocked_since', 'failing_since', since].map((time) => `union all select ${time}`)
  return `(select min(since) from (select gap_since as since ${others.join(' ')}) as times)`
}

export const webhookWrites = {
  /** Records that messages up to this id are not selected. */
  *passMessages({
    webhook: { id, lastId, replays },
    messageId,
  }: Omit<NextMessage, 'now'>): Operation<void> {
    yield* query(
      `update shop.webhook set last_id = $4
       where id = $1 and last_id = $2 and replays = $3 and pending_id is null`,
      [id, lastId, replays, messageId],
    )
  },
  /** Records that the message waits for its key. If it is charged, it stays so. */
  *pauseWebhook(
    { webhook: { id, lastId, replays, pending }, messageId, now }: NextMessage,
    reason: QuotaProblemCode,
  ): Operation<void> {
    const [change, state] = pending?.charged
      ? ['', 'charged_day is not null and pending_id = $4']
      : ['pending_id = $4, pending_replay = replays,', 'charged_day is null']
    yield* query(
      `update shop.webhook set ${change} paused = $5, blocked_since = coalesce(blocked_since, $6)
       where id = $1 and last_id = $2 and replays = $3 and ${state}`,
      [id, lastId, replays, messageId, reason, now.getTime()],
    )
  },
  /** Records that mail up to this id was checked; with `gapSince`, that some may have expired since then, or earlier if it fails or is blocked for longer. */
  *checkWebhook(id: string, checkedId: number, gapSince?: Date): Operation<void> {
    const gap = gapSince ? `, gap_since = ${earliestGap('$3')}` : ''
    yield* query(
      `update shop.webhook set checked_id = $2 ${gap} where id = $1 and checked_id < $2`,
      gapSince ? [id, checkedId, gapSince.getTime()] : [id, checkedId],
    )
  },
  /** Delivers again what is newer than this id, and the rest; the next attempt is due now. */
  *replayWebhook(id: string, sinceId: number): Operation<boolean> {
    // What is charged is still delivered first; then from there. Unless the cursor moves back, nothing is repeated.
    const changed = yield* query(
      `update shop.webhook set last_id = case when last_id < $2 then last_id else $2 end,
         replays = replays + case when $2 < last_id then 1 else 0 end,
         pending_id = case when charged_day is null then null else pending_id end,
         paused = null, gap_since = null, ${NO_FAILURES},
         checked_id = case when checked_id < last_id then last_id else checked_id end
       where id = $1 returning id`,
      [id, sinceId],
    )
    return changed.length === 1
  },
  /** The pending message has expired or was deleted: records a gap since then or earlier. */
  *skipMessage(id: string, messageId: number, gapSince: Date): Operation<boolean> {
    const changed = yield* query(
      `update shop.webhook set ${NEXT_CURSOR}, gap_since = ${earliestGap('$3')}
       where id = $1 and pending_id = $2 returning id`,
      [id, messageId, gapSince.getTime()],
    )
    return changed.length === 1
  },
  /** Enables it, and makes the next attempt due now. */
  *enableWebhook(id: string): Operation<boolean> {
    const changed = yield* query(
      `update shop.webhook set disabled = null, paused = null, ${NO_FAILURES}
       where id = $1 returning id`,
      [id],
    )
    return changed.length === 1
  },
}

type Pending = Pick<WebhookRow, 'deliveries' | 'next_attempt_at'>

const LOCK = 'select deliveries, next_attempt_at from shop.webhook where id = $1'

/** Of several statements. Each locks the webhook first, then its key. */
export const webhookTransactions = {
  /** False if the key has `max` of them. */
  *addWebhook(webhook: NewWebhook, max: number): Operation<boolean> {
    const { id, keyId, url, to, from, subject, createdAt, lastId } = webhook
    yield* lockKey(keyId)
    const known = yield* query('select 1 from shop.webhook where key_id = $1', [keyId])
    if (known.length >= max) return false
    yield* query(
      `insert into shop.webhook (id, key_id, url, to_address, from_pattern, subject, created_at, last_id,
         checked_id)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [id, keyId, url, to, from, subject, createdAt.getTime(), lastId, idAt(createdAt)],
    )
    return true
  },
  /**
   * Charges one request and records the message as pending, in one commit. `refused`: the key has none left; `changed`: this
   * message is not the next one any more, or another node has charged it.
   */
  *takeMessage({
    webhook: { id, keyId, lastId, replays },
    messageId,
    now,
  }: NextMessage): Operation<'taken' | 'refused' | 'changed'> {
    const [row] = yield* query(
      `${LOCK} and last_id = $2 and replays = $3 and charged_day is null and disabled is null
       for no key update`,
      [id, lastId, replays],
    )
    if (!row) return 'changed'
    const spent = yield* spend(keyId, now, 1)
    if (!spent) return 'refused'
    yield* query(
      `update shop.webhook set pending_id = $2, pending_replay = replays, charged_day = $3,
         attempts = 0, paused = null, blocked_since = null
       where id = $1`,
      [id, messageId, spent.day],
    )
    return 'taken'
  },
  /** Records an attempt. The message is delivered, or pending until the next attempt, or the webhook is disabled. */
  *recordAttempt(attempt: RecordedAttempt): Operation<boolean> {
    const { webhookId: id, messageId, replay, status, error, ms, dueAt, result } = attempt
    const at = attempt.at.getTime()
    const [row] = yield* query<Pending>(
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
    if (result === 'delivered') {
      yield* query(
        `update shop.webhook set ${NEXT_CURSOR}, deliveries = $2, delivered_at = $3, delivered_id = pending_id,
           ${NO_FAILURES}, blocked_since = null
         where id = $1`,
        [id, number, at],
      )
      return true
    }
    // Its owner has enabled or replayed it meanwhile: the next attempt is due, and begins a new series.
    if (row.next_attempt_at !== (dueAt?.getTime() ?? null)) {
      yield* query('update shop.webhook set deliveries = $2, attempts = $3 where id = $1', [
        id,
        number,
        attempt.attempt,
      ])
      return true
    }
    const [retryAt, disabled] =
      'retryAt' in result ? [result.retryAt.getTime(), null] : [null, result.disabled]
    yield* query(
      `update shop.webhook set deliveries = $2, attempts = $3, last_error = $4, next_attempt_at = $5,
         disabled = $6, failures = $7, failing_since = $8, paused = null
       where id = $1`,
      [
        id,
        number,
        attempt.attempt,
        outcomeText({ status, error }),
        retryAt,
        disabled,
        result.failures,
        result.failingSince.getTime(),
      ],
    )
    if (disabled === null) return true
    yield* query(
      'update shop.webhook set blocked_since = coalesce(blocked_since, failing_since) where id = $1',
      [id],
    )
    return true
  },
  /** Undefined if there is no such webhook. */
  *rollWebhook(id: string, now: Date, oldUntil: Date): Operation<WebhookRoll | undefined> {
    const [row] = yield* query<Pick<WebhookRow, 'generation' | 'old_secret_until'>>(
      'select generation, old_secret_until from shop.webhook where id = $1 for no key update',
      [id],
    )
    if (!row) return undefined
    const until = dateOf(row.old_secret_until)
    if (until && until.getTime() > now.getTime()) return { until }
    const generation = row.generation + 1
    yield* query('update shop.webhook set generation = $2, old_secret_until = $3 where id = $1', [
      id,
      generation,
      oldUntil.getTime(),
    ])
    return { generation }
  },
  *deleteWebhook(id: string): Operation<boolean> {
    const [row] = yield* query(`${LOCK} for update`, [id])
    if (!row) return false
    yield* query('delete from shop.webhook_delivery where webhook_id = $1', [id])
    yield* query('delete from shop.webhook where id = $1', [id])
    return true
  },
}

/**
 * Webhooks, how far each has delivered, and what it has charged. No charge is ever refunded: a state that costs nothing would tell
 * for nothing that there is a message. A change that finds another state than expected does nothing.
 */
export interface WebhookStore
  extends AsyncMethods<typeof webhookReads & typeof webhookWrites & typeof webhookTransactions> {}
