import {
  type AsyncMethods,
  type CreatedPage,
  containing,
  type Operation,
  pageStart,
  query,
} from '../base/operation.ts'
import { type ApiKey, utcDay } from './rules.ts'

export const KEY_COLUMNS = `id, prefix, plan, label, state, max_requests, max_per_day, max_domains, used, day, used_today,
  period, created_at, expires_at`

const BY_SECRET = `select ${KEY_COLUMNS} from shop.key_secret join shop.api_key on id = key_id
  where hash = $1 and (until is null or until > $2)`

export const keyReads = {
  /** By the hash of a valid secret. */
  *findKey(secretHash: string, now: Date): Operation<ApiKey | undefined> {
    const [row] = yield* query<KeyRow>(BY_SECRET, [secretHash, now.getTime()])
    return row && keyOf(row, now)
  },
  *readKey(keyId: string, now: Date): Operation<ApiKey | undefined> {
    const [row] = yield* query<KeyRow>(`select ${KEY_COLUMNS} from shop.api_key where id = $1`, [
      keyId,
    ])
    return row && keyOf(row, now)
  },
  /** Newest first. */
  *listKeys({ now, limit, before, text = '' }: KeyQuery): Operation<ApiKey[]> {
    const rows = yield* query<KeyRow>(
      `select ${KEY_COLUMNS} from shop.api_key
       where (created_at, id) < ($1, $2) and (prefix = $3 or label collate ucs_basic ilike $4 escape '!')
       order by created_at desc, id desc limit $5`,
      [...pageStart(before), text, containing(text), limit],
    )
    return rows.map((row) => keyOf(row, now))
  },
  /** Requests by UTC day, oldest first, from that day on; days without any are left out. */
  readUsage: (keyId: string, fromDay: number): Operation<UsageDay[]> =>
    query<UsageDay>(
      `select day, count from shop.usage_day where key_id = $1 and day >= $2 and count > 0
       order by day`,
      [keyId, fromDay],
    ),
}

export const keyWrites = {
  /** No request that starts afterwards is accepted. False if there is no such key. */
  *revokeKey(keyId: string): Operation<boolean> {
    const revoked = `update shop.api_key set state = 'revoked' where id = $1 returning id`
    return (yield* query(revoked, [keyId])).length === 1
  },
  *labelKey(keyId: string, label: string): Operation<boolean> {
    const labelled = 'update shop.api_key set label = $2 where id = $1 returning id'
    return (yield* query(labelled, [keyId, label])).length === 1
  },
}

/** Transactions of several statements. */
export const keyTransactions = {
  *addKey(key: NewKey): Operation<void> {
    const { id, prefix, plan, label, maxRequests, maxPerDay, maxDomains } = key
    const [created, ends] = [key.createdAt.getTime(), key.expiresAt?.getTime()]
    yield* query(
      `insert into shop.api_key (id, prefix, plan, label, max_requests, max_per_day,
         max_domains, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [id, prefix, plan, label, maxRequests, maxPerDay, maxDomains, created, ends],
    )
    yield* addSecret(id, key.secretHash)
  },
  /** Adds a secret; the old one is valid until `oldUntil`, any before that is deleted. Refused if the key does not exist or is revoked. */
  *rollKey({ keyId, secretHash, oldUntil, presented }: KeyRoll): Operation<KeyRollResult> {
    const state = yield* lockKey(keyId)
    if (state === undefined || state === 'revoked') return { rolled: false }
    if (presented) {
      const [old] = yield* query<{ until: number }>(
        'select until from shop.key_secret where key_id = $1 and until > $2 order by until desc limit 1',
        [keyId, presented.now.getTime()],
      )
      if (old) return { rolled: false, oldSecretUntil: new Date(old.until) }
      const current = yield* query(
        'select 1 from shop.key_secret where hash = $1 and key_id = $2 and until is null',
        [presented.hash, keyId],
      )
      if (current.length === 0) return { rolled: false }
    }
    // At most two secrets: only the operator can roll again while the old one is valid.
    yield* query('delete from shop.key_secret where key_id = $1 and until is not null', [keyId])
    yield* query('update shop.key_secret set until = $2 where key_id = $1', [
      keyId,
      oldUntil.getTime(),
    ])
    yield* addSecret(keyId, secretHash)
    return { rolled: true }
  },
}

export function addSecret(keyId: string, secretHash: string): Operation<unknown[]> {
  return query('insert into shop.key_secret (hash, key_id) values ($1, $2)', [secretHash, keyId])
}

/** Secrets are changed with the row of their key locked: otherwise two changes could each leave one. */
export function* lockKey(keyId: string): Operation<ApiKey['state'] | undefined> {
  const [row] = yield* query<Pick<ApiKey, 'state'>>(
    'select state from shop.api_key where id = $1 for no key update',
    [keyId],
  )
  return row?.state
}

/**
 * Charges $4 requests to key $1 at time $2 on day $3; no row, and nothing is charged, unless all of them may pass. A clock that
 * steps back never reopens a day.
 */
export const CHARGE = `update shop.api_key set used = used + $4,
    used_today = case when day >= $3 then used_today + $4 else $4 end,
    day = case when day >= $3 then day else $3 end
  where id = $1 and state = 'active' and used + $4 <= max_requests
    and (expires_at is null or expires_at > $2)
    and (max_per_day is null
      or case when day >= $3 then used_today else 0 end + $4 <= max_per_day)
  returning ${KEY_COLUMNS}`

/** Refunds a request charged to key $1 on day $2 in period $3; no row, and no change, if the key has none to refund. */
export const REFUND = `update shop.api_key set used = used - case when period = $3 then 1 else 0 end,
    used_today = used_today - case when day = $2 then 1 else 0 end
  where id = $1 and (used > 0 or period <> $3) returning id`

/** The key after the last of these requests; undefined, and nothing is charged, unless all of them may pass. */
export function* chargeRequests(
  keyId: string,
  now: Date,
  wanted: number,
): Operation<KeyRow | undefined> {
  const [row] = yield* query<KeyRow>(CHARGE, [keyId, now.getTime(), utcDay(now), wanted])
  if (!row) return undefined
  yield* query(
    `insert into shop.usage_day as known (key_id, day, count) values ($1, $2, $3)
     on conflict (key_id, day) do update set count = known.count + excluded.count`,
    [keyId, row.day, wanted],
  )
  return row
}

export function* refund(keyId: string, { day, period }: ChargedTo): Operation<void> {
  const refunded = yield* query(REFUND, [keyId, day, period])
  if (refunded.length === 0) return
  const uncount = 'update shop.usage_day set count = count - 1 where key_id = $1 and day = $2'
  yield* query(uncount, [keyId, day])
}

export interface KeyRow {
  id: string
  prefix: string
  plan: string
  label: string
  state: ApiKey['state']
  max_requests: number
  max_per_day: number | null
  max_domains: number
  used: number
  day: number
  used_today: number
  period: number
  created_at: number
  expires_at: number | null
}

export function keyOf(row: KeyRow, now: Date): ApiKey {
  return {
    id: row.id,
    prefix: row.prefix,
    plan: row.plan,
    label: row.label,
    state: row.state,
    maxRequests: row.max_requests,
    maxPerDay: row.max_per_day ?? undefined,
    maxDomains: row.max_domains,
    used: row.used,
    usedToday: row.day >= utcDay(now) ? row.used_today : 0,
    createdAt: new Date(row.created_at),
    expiresAt: row.expires_at === null ? undefined : new Date(row.expires_at),
  }
}

/** The key after one request, if the statement that returned this row charged `after` more requests after it. */
export function chargedKeyOf(row: KeyRow, now: Date, after: number): ChargedKey {
  const then = { ...row, used: row.used - after, used_today: row.used_today - after }
  return { ...keyOf(then, now), day: row.day, period: row.period }
}

export interface KeyQuery extends CreatedPage {
  now: Date
  /** Only keys with this prefix, or with this text in their label, ignoring case: on SQLite, of ASCII letters only. */
  text?: string | undefined
}

export interface NewKey extends Omit<ApiKey, 'state' | 'used' | 'usedToday'> {
  secretHash: string
}

/** What a request was counted against. */
export interface ChargedTo {
  /** May be later than the clock's, if that has stepped back. */
  day: number
  /** Incremented by each renewal, which resets the total. */
  period: number
}

/** A key after a request was charged to it. */
export interface ChargedKey extends ApiKey, ChargedTo {}

export interface KeyRoll {
  keyId: string
  secretHash: string
  oldUntil: Date
  /** The holder's secret: must be the current one, and no old one may be valid at `now`. Undefined: rolled by the operator. */
  presented?: { hash: string; now: Date }
}

export interface KeyRollResult {
  rolled: boolean
  /** Until then the old secret is valid, and a holder cannot roll the key again. */
  oldSecretUntil?: Date
}

export interface UsageDay {
  /** In days since 1970, as keys/rules.ts counts them. */
  day: number
  count: number
}

export interface KeyStore
  extends AsyncMethods<typeof keyReads & typeof keyWrites & typeof keyTransactions> {
  /** Charges one request in a single statement; undefined if none is left. */
  chargeRequest(keyId: string, now: Date): Promise<ChargedKey | undefined>
  /** Refunds one request, after an error of ours, to the day and period it was charged to. */
  refundRequest(keyId: string, from: ChargedTo): Promise<void>
}
