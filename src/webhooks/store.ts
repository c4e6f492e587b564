import { idAt } from '../base/id.ts'
import { type AsyncMethods, type Operation, query } from '../base/operation.ts'
import { chargeRequests, lockKey } from '../keys/store.ts'
import { CHECKED, type webhookReads } from './read-store.ts'
import {
  KEPT_DELIVERIES,
  MAX_WEBHOOKS_PER_KEY,
  type NewWebhook,
  outcomeText,
  type RecordedAttempt,
  type Webhook,
  type WebhookChange,
  type WebhookCondition,
} from './rules.ts'

/** How far the mail of a webhook was examined. */
export interface Position {
  /** Replays of the webhook: one has moved its cursor back if they differ. */
  replays: number
  /** Changes of the webhook: its conditions may be others if they differ. */
  changes: number
  /** `lastId` when the webhook was read last: up to there, mail was examined before any later change. */
  sinceId: number
  /** The last message that was examined and is not selected. */
  lastId: number
  /** Everything up to this id was seen, or is known to be missed. */
  seenId: number
}

const ONLY_CHARGED = 'pending_id = case when charged_day is null then null else pending_id end'

const NO_FAILURES = 'failures = 0, last_error = null, failing_since = null, next_attempt_at = null'

/** The cursor after the pending message, unless a replay has moved it since. */
const NEXT_CURSOR = `last_id = case when replays = pending_replay then pending_id else last_id end,
  pending_id = null, charged_day = null, attempts = 0`

/** SQLite has no `least`. */
const EARLIER_GAP = 'case when gap_since <= $3 then gap_since else $3 end'

/** After a change, mail that the last look has examined may not have been examined by the new conditions. */
const EXAMINED = 'case when changes = $5 then cast($3 as bigint) else cast($6 as bigint) end'

/** Each is one statement. */
export const webhookWrites = {
  /** Records how far mail was examined that is not selected, and up to where it is known whether mail has expired. */
  *moveCursor(
    id: string,
    { replays, changes, sinceId, lastId, seenId }: Position,
  ): Operation<void> {
    yield* query(
      `update shop.webhook set checked_id = case when ${CHECKED} < $2 then $2 else ${CHECKED} end, ${ONLY_CHARGED},
         last_id = case when last_id < ${EXAMINED} and replays = $4 and charged_day is null
           then ${EXAMINED} else last_id end
       where id = $1`,
      [id, Math.max(seenId, lastId), lastId, replays, changes, sinceId],
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
  /** Enables it, ends a pause, and makes the next attempt due now. */
  *enableWebhook(id: string): Operation<void> {
    yield* query(
      `update shop.webhook set disabled = null, paused_at = null, ${NO_FAILURES} where id = $1`,
      [id],
    )
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

const LOCK = 'select deliveries, next_attempt_at, url from shop.webhook where id = $1'

interface LockedRow {
  deliveries: number
  next_attempt_at: number | null
  url: string
}

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
   * is not the next one any more, another node has charged it, or the webhook was changed.
   */
  *chargeMessage(
    {
      id,
      keyId,
      lastId,
      replays,
      changes,
    }: Pick<Webhook, 'id' | 'keyId' | 'lastId' | 'replays' | 'changes'>,
    messageId: number,
    now: Date,
  ): Operation<'charged' | 'refused' | 'changed'> {
    const [row] = yield* query(
      `${LOCK} and last_id = $2 and replays = $3 and changes = $4 and charged_day is null
         and disabled is null and paused_at is null for no key update`,
      [id, lastId, replays, changes],
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
    const [row] = yield* query<LockedRow>(
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
      row.next_attempt_at === (dueAt?.getTime() ?? null) && row.url === attempt.url
        ? [
            ', last_error = $4, next_attempt_at = $5, disabled = $6, failures = $7, failing_since = $8',
            outcomeText(attempt),
            failed.retryAt?.getTime(),
            failed.disabled,
            failed.failures,
            failed.failingSince.getTime(),
          ]
        : // Its holder has enabled, replayed or changed it meanwhile: the next attempt is due, and begins a new series.
          ['']
    yield* query(`update shop.webhook set deliveries = $2, attempts = $3 ${change} where id = $1`, [
      id,
      number,
      attempt.attempt,
      ...values,
    ])
    return true
  },
  /** A new URL has no failures yet. The secret and the cursor stay. */
  *changeWebhook(id: string, change: WebhookChange, now: Date): Operation<void> {
    const { url, to, from, subject, clear, state } = change
    const [row] = yield* query<LockedRow>(`${LOCK} for no key update`, [id])
    if (!row) return
    if (url !== undefined && url !== row.url) {
      yield* query(`update shop.webhook set url = $2, ${NO_FAILURES} where id = $1`, [id, url])
    }
    const cleared = (name: WebhookCondition) => (clear.includes(name) ? 1 : 0)
    yield* query(
      `update shop.webhook set ${newCondition('to_address', 2)}, ${newCondition('from_pattern', 4)},
         ${newCondition('subject', 6)}, changes = changes + 1
       where id = $1`,
      [id, to, cleared('to'), from, cleared('from'), subject, cleared('subject')],
    )
    if (state === 'active') yield* webhookWrites.enableWebhook(id)
    if (state === 'paused') {
      yield* query('update shop.webhook set paused_at = coalesce(paused_at, $2) where id = $1', [
        id,
        now.getTime(),
      ])
    }
  },
  *deleteWebhook(id: string): Operation<void> {
    yield* query(`${LOCK} for update`, [id])
    yield* query('delete from shop.webhook_delivery where webhook_id = $1', [id])
    yield* query('delete from shop.webhook where id = $1', [id])
  },
}

/** With the new value and, as 1, whether it is removed, in two parameters. */
function newCondition(column: string, parameter: number): string {
  const [value, removed] = [`cast($${parameter} as text)`, `cast($${parameter + 1} as integer)`]
  return `${column} = case when ${removed} = 1 then null else coalesce(${value}, ${column}) end`
}

/**
 * Webhooks, how far each has delivered, and what it has charged. No charge is ever refunded: otherwise a
 * webhook would reveal, without a charge, that there is a message. A change that finds another state than expected does nothing.
 */
export interface WebhookStore
  extends AsyncMethods<typeof webhookReads & typeof webhookWrites & typeof webhookTransactions> {}
