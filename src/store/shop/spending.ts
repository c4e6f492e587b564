import { KEY_COLUMNS } from './keys.ts'

/**
 * Charges $4 requests to key $1 at time $2 on day $3; no row, and nothing is charged, unless all of them may pass. A clock that
 * steps back never reopens a day.
 */
export const SPEND = `update shop.api_key set used = used + $4,
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
